// The table of runs. Only visible rows are elements; the others are asked for when the user scrolls
// to them.

const rowHeight = 30, chunkSize = 100;
/// Rows kept above and below the visible ones.
const spareRows = 4;

/// Runs that were chosen to be compared, in the order in which they were.
const chosen = {
  ids: [],
  listeners: new Set(),
  has(id) {
    return this.ids.includes(id);
  },
  toggle(id) {
    this.ids = this.has(id) ? this.ids.filter((other) => other !== id) : [...this.ids, id];
    for (const listener of this.listeners) listener();
  },
  clear() {
    this.ids = [];
    for (const listener of this.listeners) listener();
  },
};

/// Shrinks the widest columns, but not below `least`, until all fit into `room`; in characters.
function fitted(widths, room, least) {
  let most = Math.max(...widths);
  const total = () => widths.reduce((sum, width) => sum + Math.min(width, most), 0);
  while (most > least && total() > room) --most;
  return widths.map((width) => Math.min(width, most));
}

class RunsView {
  constructor() {
    const kept = memory.get('runs', {});
    this.columns = Array.isArray(kept.columns) ? kept.columns : [];
    this.sort = kept.sort || '';
    this.falling = Boolean(kept.falling);
// A user who comes back finds the list unchanged.
    this.search = RunsView.left.search || '';
    this.cursor = RunsView.left.cursor || 0;
    this.chunks = new Map();
    this.found = 0;
    this.build();
  }

  build() {
    this.count = h('span.count', {'aria-live': 'polite'});
    this.filter = h('input.filter', {
      id: 'filter', type: 'search', 'aria-label': 'find runs', autocomplete: 'off', spellcheck: false,
      value: this.search, placeholder: 'words, or a condition: lr<0.01 and status=finished',
      oninput: debounced(120, () => this.searched()),
    });
    this.wrong = h('p.failure', {role: 'alert', hidden: true});
    this.compareButton = h('button', {type: 'button', id: 'compare', onclick: () => this.compare()}, 'Compare');
    this.clearButton = h('button', {type: 'button', onclick: () => chosen.clear()}, 'Clear');
    this.columnsButton = h('button', {type: 'button', id: 'columns', 'aria-haspopup': 'dialog', onclick: () => this.chooseColumns()}, 'Columns');
    this.head = h('thead');
    this.above = h('tr.spacer', {'aria-hidden': 'true'}, h('td'));
    this.below = h('tr.spacer', {'aria-hidden': 'true'}, h('td'));
    this.body = h('tbody');
    this.widths = h('colgroup');
    this.table = h('table.runs', {}, h('caption.hidden', {}, 'runs, newest first unless sorted'), this.widths, this.head, this.body);
    this.scroller = h('div.scroller', {
      tabindex: '0', role: 'region', 'aria-label': 'runs',
      onscroll: () => requestAnimationFrame(() => this.render()),
    }, this.table);
    this.dialog = h('dialog.chooser', {'aria-label': 'columns'});
    this.element = h('div.view.runs-view', {},
      h('div.toolbar', {}, this.filter, this.count, h('span.grow'), this.clearButton, this.compareButton, this.columnsButton),
      this.wrong, this.scroller, this.dialog);
    this.showChosen = () => {
      this.compareButton.disabled = chosen.ids.length < 2;
      fill(this.compareButton, chosen.ids.length ? `Compare ${chosen.ids.length}` : 'Compare');
      this.clearButton.hidden = !chosen.ids.length;
      this.render();
    };
    chosen.listeners.add(this.showChosen);
    this.resize = new ResizeObserver(() => {
      if (this.scroller.clientWidth !== this.width && this.answered) this.setWidths();
      if (this.scroller.clientHeight !== this.height) this.render();
    });
    this.resize.observe(this.scroller);
  }

  title() {
    return 'runs';
  }

  open() {
    this.found = RunsView.left.found || 0;
    this.scrollTo = RunsView.left.scrollTop || 0;
    this.showChosen();
    const isUsual = !this.columns.length && !this.sort && !this.search;
    if (isUsual && start.runs && !this.scrollTo) {
      this.take(start.runs);
      start.runs = null;
    } else {
      this.reload();
    }
  }

  close() {
    RunsView.left = {search: this.search, cursor: this.cursor, scrollTop: this.scroller.scrollTop, found: this.found};
    chosen.listeners.delete(this.showChosen);
    this.resize.disconnect();
  }

  question(offset) {
    return {
      columns: this.columns.join('\n'), sort: this.sort, falling: this.falling ? 1 : '',
      search: this.search, offset, limit: chunkSize,
    };
  }

  /// Takes rows, and the columns that they have.
  take(answer) {
    this.found = answer.found;
    this.chunks.set(answer.offset / chunkSize, answer.rows);
    this.runs = answer.runs;
    const columns = JSON.stringify([answer.columns, this.sort, this.falling]);
    if (columns !== this.shownColumns) {
      this.shownColumns = columns;
      this.answered = answer.columns;
      this.renderHead(answer);
    }
    this.wrong.hidden = true;
    this.cursor = Math.max(0, Math.min(this.cursor, this.found - 1));
    fill(this.count, this.found === this.runs ? plural(this.runs, 'run')
      : `${grouped(this.found)} of ${plural(this.runs, 'run')}`);
    this.render();
    if (this.scrollTo) {
      this.scroller.scrollTop = this.scrollTo;
      this.scrollTo = 0;
      this.render();
    }
  }

/// Asks for the visible rows again and forgets the rest. The shown rows stay until then.
  async reload() {
    const turn = this.turn = (this.turn || 0) + 1;
    const [first, last] = this.visible();
    const offsets = new Set([first, last].map((row) => Math.floor(Math.max(0, row) / chunkSize) * chunkSize));
    try {
      const answers = await Promise.all([...offsets].map((offset) => ask('runs', this.question(offset))));
      if (turn !== this.turn) return;
      this.chunks.clear();
      this.loading = new Set();
      answers.forEach((answer) => this.take(answer));
    } catch (error) {
      if (turn !== this.turn) return;
      // A column that is gone is no reason to show nothing.
      if (this.sort && !this.search) {
        this.sort = '';
        return this.reload();
      }
      fill(this.wrong, error.message);
      this.wrong.hidden = false;
    }
  }

  async loadChunk(index) {
    this.loading = this.loading || new Set();
    if (this.loading.has(index)) return;
    this.loading.add(index);
    const turn = this.turn;
    try {
      const answer = await ask('runs', this.question(index * chunkSize));
      if (turn === this.turn) this.take(answer);
    } catch (error) {
      fill(this.wrong, error.message);
      this.wrong.hidden = false;
    } finally {
      this.loading.delete(index);
    }
  }

  refresh() {
    return this.reload();
  }

  searched() {
    if (this.filter.value === this.search) return;
    this.search = this.filter.value;
    this.cursor = 0;
    this.scroller.scrollTop = 0;
    this.reload();
  }

  visible() {
    this.height = this.scroller.clientHeight;
    const top = this.scrollTo || this.scroller.scrollTop, rows = Math.ceil((this.height || 600) / rowHeight);
    const first = Math.max(0, Math.floor(top / rowHeight) - spareRows);
    return [first, Math.min(Math.max(this.found - 1, 0), first + rows + 2 * spareRows)];
  }

  remember() {
    memory.set('runs', {columns: this.columns, sort: this.sort, falling: this.falling});
  }

  sortBy(name) {
// Numbers are sorted greatest first; a third click brings the usual order back.
    const isNumber = this.answered.find((column) => column.name === name).align === 'right';
    if (this.sort !== name) {
      this.sort = name;
      this.falling = isNumber;
    } else if (this.falling === isNumber) {
      this.falling = !this.falling;
    } else {
      this.sort = '';
      this.falling = false;
    }
    this.cursor = 0;
    this.scroller.scrollTop = 0;
    this.remember();
    this.reload();
  }

  renderHead(answer) {
    const focused = this.head.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    this.characters = answer.columns.map((column, i) => {
      const title = column.title.length + (this.sort === column.name ? 2 : 0);
      const mark = column.name === 'status' ? 2 : 0;
      const longest = Math.max(title, 5, ...answer.rows.map((row) => (row.cells[i] || '').length + mark));
      return Math.min(longest, column.name === 'metrics' || column.name === 'directory' ? 48 : 26);
    });
    this.setWidths();
    fill(this.head, h('tr', {}, h('th.choose', {scope: 'col'}, h('span.hidden', {}, 'chosen')), answer.columns.map((column) => {
      const isSorted = this.sort === column.name;
      const mark = isSorted ? (this.falling ? ' ↓' : ' ↑') : '';
      return h(column.align === 'right' ? 'th.number' : 'th',
        {scope: 'col', 'aria-sort': isSorted ? (this.falling ? 'descending' : 'ascending') : 'none'},
        h('button.sort', {type: 'button', 'data-name': column.name, title: `sort by ${column.title}`, onclick: () => this.sortBy(column.name)},
          column.title, h('span', {'aria-hidden': 'true'}, mark)));
    })));
    if (focused) for (const button of this.head.querySelectorAll('button')) if (button.dataset.name === focused) button.focus();
  }

  setWidths() {
    const ruler = h('span.ruler', {}, '0'.repeat(100));
    this.element.append(ruler);
    const character = ruler.offsetWidth / 100;
    ruler.remove();
    const box = 3.5, padding = 2.3, least = 9;
    this.width = this.scroller.clientWidth;
    const room = this.width / character - box - padding * this.characters.length;
    const widths = [box, ...fitted(this.characters, room, least).map((width) => width + padding)];
    fill(this.widths, widths.map((width) => {
      const col = h('col');
      col.style.width = `${width}ch`;
      return col;
    }));
    this.table.style.minWidth = `${widths.reduce((sum, width) => sum + width, 0)}ch`;
  }

  row(index) {
    const chunk = this.chunks.get(Math.floor(index / chunkSize));
    return chunk && chunk[index % chunkSize];
  }

  render() {
    if (!this.answered) return;
    if (!this.found) {
      fill(this.body, h('tr', {}, h('td.nothing', {colSpan: this.answered.length + 1},
        this.runs ? empty('No matching runs.', 'Words are looked for in names, states, arguments and commits.')
          : empty('There are no runs yet.', 'Wrap the training loop in flor::loop, build, and run the program with --flor NAME: the run appears here while it goes on.'))));
      return;
    }
    const [first, last] = this.visible();
    const span = this.answered.length + 1;
    const spacer = (row, rows) => {
      row.firstChild.colSpan = span;
      row.firstChild.style.height = `${rows * rowHeight}px`;
      row.hidden = rows === 0;
      return row;
    };
    const rows = [];
    for (let i = first; i <= last; ++i) {
      const data = this.row(i);
      if (!data) this.loadChunk(Math.floor(i / chunkSize));
      rows.push(this.renderRow(i, data));
    }
    const focused = this.body.contains(document.activeElement) ? document.activeElement.closest('tr').dataset.id : null;
    fill(this.body, spacer(this.above, first), rows, spacer(this.below, this.found - 1 - last));
    this.table.setAttribute('aria-rowcount', String(this.found + 1));
    if (focused) {
      const link = this.body.querySelector(`tr[data-id="${focused}"] a`);
      if (link) link.focus({preventScroll: true});
    }
  }

  renderRow(index, data) {
    const at = index === this.cursor;
    if (!data) return h('tr.waiting', {'aria-rowindex': String(index + 2)}, h('td', {colSpan: this.answered.length + 1}, '…'));
    const isChosen = chosen.has(data.id);
    const box = h('input', {type: 'checkbox', checked: isChosen, tabindex: '-1', 'aria-label': `compare ${data.id.slice(0, 8)}`,
      onchange: () => chosen.toggle(data.id)});
    return h('tr' + (at ? '.at' : '') + (isChosen ? '.chosen' : ''),
      {'data-id': data.id, 'aria-rowindex': String(index + 2), 'aria-current': at ? 'true' : null,
        onclick: (event) => this.clicked(event, index, data)},
      h('td.choose', {}, box),
      this.answered.map((column, i) => {
        const text = data.cells[i];
        if (column.name === 'run') return h('th', {scope: 'row'}, h('a', {href: `#/run/${data.id}`}, text));
        if (column.name === 'status') return h('td', {title: text}, state(data.state, text));
        return h(column.align === 'right' ? 'td.number' : 'td', {title: text.length > 12 ? text : null}, text || '–');
      }));
  }

  clicked(event, index, data) {
    if (event.target.closest('a, input')) return;
    this.cursor = index;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.target.closest('.choose')) chosen.toggle(data.id);
    else location.hash = `#/run/${data.id}`;
    this.render();
  }

  compare() {
    if (chosen.ids.length >= 2) location.hash = `#/compare/${chosen.ids.join(',')}`;
  }

  moveTo(index) {
    this.cursor = Math.max(0, Math.min(index, this.found - 1));
    const top = this.cursor * rowHeight, room = this.scroller.clientHeight - this.head.clientHeight - rowHeight;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top > this.scroller.scrollTop + room - rowHeight) this.scroller.scrollTop = top - room + rowHeight;
    this.render();
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / rowHeight) - 2);
    const moves = {j: 1, ArrowDown: 1, k: -1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity};
    const data = this.row(this.cursor);
    if (event.key in moves) this.moveTo(this.cursor + moves[event.key]);
    else if (event.key === 'Enter' && data && !event.target.closest('a, button')) location.hash = `#/run/${data.id}`;
    else if ((event.key === 'x' || event.key === ' ') && data && !event.target.closest('a, button')) chosen.toggle(data.id);
    else if (event.key === 'c') this.compare();
    else if (event.key === '/') this.filter.focus();
    else return false;
    return true;
  }

  async chooseColumns() {
    const {columns, usual} = await ask('columns');
    const shown = this.answered.map((column) => column.name);
    const list = h('div.choices');
    const boxes = columns.map((column) => {
      const box = h('input', {type: 'checkbox', value: column.name, checked: shown.includes(column.name), onchange: () => apply()});
      const kind = {argument: 'argument', metric: 'metric'}[column.kind] || '';
      return {column, box, label: h('label', {}, box, ' ', column.title, ' ', h('span.muted', {}, kind))};
    });
    const apply = () => {
// Columns that were shown keep their places; new ones come last.
      const wanted = boxes.filter((each) => each.box.checked).map((each) => each.column.name);
      this.columns = [...shown.filter((name) => wanted.includes(name)), ...wanted.filter((name) => !shown.includes(name))];
      if (!this.columns.includes('run')) this.columns.unshift('run');
      this.remember();
      this.reload();
    };
    const find = h('input', {type: 'search', 'aria-label': 'find a column', placeholder: 'find a column',
      oninput: () => {
        const word = find.value.toLowerCase();
        for (const each of boxes) each.label.hidden = !each.column.title.toLowerCase().includes(word);
      }});
    append(list, boxes.map((each) => each.label));
    const reset = () => {
      this.columns = [];
      this.remember();
      this.reload();
      for (const each of boxes) each.box.checked = usual.includes(each.column.name);
    };
    fill(this.dialog, h('h2', {}, 'Columns'), find, list,
      h('div.buttons', {}, h('button', {type: 'button', onclick: reset}, 'The usual ones'),
        h('button.main', {type: 'button', onclick: () => this.dialog.close()}, 'Done')));
    this.dialog.showModal();
  }
}

RunsView.left = {};
