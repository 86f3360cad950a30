// Several runs side by side.

class CompareView {
  constructor(ids) {
    this.ids = ids;
    this.element = h('div.view', {}, h('p.muted', {}, '…'));
    this.onlyDifferent = memory.get('onlyDifferent', true);
  }

  title() {
    return 'compare';
  }

  async open() {
    if (this.ids.length < 2) {
      fill(this.element, empty('Choose at least two runs.', 'In the list: x chooses the run that the cursor is at, c compares.'));
      return;
    }
    try {
      this.take(await ask('compare', {runs: this.ids.join(',')}));
    } catch (error) {
      fill(this.element, failure(error), h('p', {}, h('a', {href: '#/runs'}, 'back to the runs')));
    }
  }

  take({runs}) {
    this.runs = runs;
    // Runs of one experiment are told apart by their ids.
    const isOne = new Set(runs.map((run) => run.experiment)).size === 1;
    const lines = runs.map((run, i) => ({id: run.id, label: isOne ? run.id.slice(0, 8) : `${run.experiment} ${run.id.slice(0, 8)}`, colour: i}));
    const names = [...new Set(runs.flatMap((run) => splitMetrics(run.metrics).curves.map(([name]) => name)))];
    this.grid = this.grid || new ChartGrid(lines);
    this.grid.show(names, (name) => lines.filter((line, i) => runs[i].metrics[name] && runs[i].metrics[name].count > 0));
    this.grid.element.hidden = !names.length;
    this.tables = this.tables || h('div');
    this.code = this.code || h('div');
    if (!this.built) {
      this.built = true;
      const box = h('input', {type: 'checkbox', checked: this.onlyDifferent, onchange: () => {
        this.onlyDifferent = box.checked;
        memory.set('onlyDifferent', box.checked);
        this.drawTables();
      }});
      fill(this.element, h('h1', {}, `Comparing ${runs.length} runs`),
        h('ul.chips', {}, lines.map((line, i) => this.chip(line, runs[i]))),
        this.grid.element,
        h('div.toolbar.tables-toolbar', {}, h('label', {}, box, ' only what differs')),
        this.tables, section('Sources', this.sourcePicker(), this.code));
      this.compareSources();
    }
    this.drawTables();
  }

  chip(line, run) {
    const others = this.ids.filter((id) => !run.id.startsWith(id));
    return h('li', {}, h(`span.swatch.line-${line.colour % 8 + 1}`, {'aria-hidden': 'true'}),
      h('a', {href: `#/run/${run.id}`}, line.label), state(run.status),
      others.length > 1 ? h('a.remove', {href: `#/compare/${others.join(',')}`, 'aria-label': `without ${line.label}`, title: 'leave it out'}, '×') : null);
  }

  rows(values) {
    const names = [...new Set(values.flatMap((each) => Object.keys(each)))];
    return names.map((name) => {
      const cells = values.map((each) => each[name]);
      const texts = cells.map((cell) => JSON.stringify(cell === undefined ? null : cell));
      return {name, cells, differs: texts.some((text) => text !== texts[0])};
    });
  }

  /// `numbers`: the cells are numbers, as far as they can be.
  valueTable(title, values, numbers) {
    const rows = this.rows(values);
    const shown = this.onlyDifferent ? rows.filter((row) => row.differs) : rows;
    const hidden = rows.length - shown.length;
    const columns = [{title: 'name', cell: (row) => row.name}, ...this.runs.map((run, i) => ({
      title: run.id.slice(0, 8), number: numbers, wide: !numbers, cell: (row) => valueText(row.cells[i])}))];
    return section(title, shown.length ? table(title, columns, shown, (row) => ({class: row.differs ? 'different' : ''})) : null,
      hidden ? h('p.muted', {}, shown.length ? `and ${hidden} equal` : `equal (${hidden})`) : null,
      rows.length ? null : h('p.muted', {}, 'none'));
  }

  drawTables() {
    const short = (value) => (value && typeof value === 'object' ? `${value.rows ? `table ${value.rows.length} × ${value.columns.length}` : value.counts ? `histogram of ${value.counts.length} bins` : value.object ? 'kept in the store' : JSON.stringify(value)}` : value);
    fill(this.tables,
      this.valueTable('Arguments', this.runs.map((run) => run.arguments), this.runs.every((run) => Object.values(run.arguments).every((value) => String(value).length < 24))),
      this.valueTable('Last values', this.runs.map((run) => Object.fromEntries(Object.entries(run.metrics).filter(([, metric]) => !metric.doubtful).map(([name, metric]) => [name, short(metric.last)]))), true),
      this.valueTable('Run', this.runs.map((run) => ({experiment: run.experiment, status: run.status, epochs: run.epochs, commit: run.commit ? run.commit.slice(0, 8) : null, directory: run.directory, command: run.command.join(' ')}))),
      this.valueTable('Environment', this.runs.map((run) => run.environment)));
  }

  sourcePicker() {
    const options = (selected) => this.runs.map((run, i) => h('option', {value: run.id, selected: i === selected}, `${run.id.slice(0, 8)} ${run.experiment}`));
    this.a = h('select', {'aria-label': 'from', onchange: () => this.compareSources()}, options(1));
    this.b = h('select', {'aria-label': 'to', onchange: () => this.compareSources()}, options(0));
    return h('div.controls', {}, h('label', {}, 'from ', this.a), h('label', {}, 'to ', this.b));
  }

  compareSources() {
    const turn = this.turn = (this.turn || 0) + 1;
    show(this.code, ask('sources', {a: this.a.value, b: this.b.value}), drawSources, () => turn !== this.turn);
  }

  async refresh() {
    if (!this.runs) return;
    try {
      this.take(await ask('compare', {runs: this.ids.join(',')}));
      this.grid.refresh();
    } catch { /* said by the next visit */ }
  }

  key() {
    return false;
  }

  close() {
    if (this.grid) this.grid.close();
  }
}
