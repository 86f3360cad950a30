// What a run printed: its lines under their epochs, and a search.

class PrintedTab {
  constructor(run) {
    this.run = run.id;
    this.filter = h('input', {type: 'search', id: 'grep', 'aria-label': 'find printed lines', autocomplete: 'off', spellcheck: false,
      placeholder: 'a regular expression: loss=\\d', oninput: debounced(200, () => this.refresh())});
    this.body = h('div', {}, h('p.muted', {}, '…'));
    this.element = h('div', {}, h('div.toolbar', {}, this.filter), this.body);
    this.refresh();
  }

  async refresh() {
    const grep = this.filter.value;
    await show(this.body, ask('printed', {run: this.run, grep}), (answer) => this.draw(answer, grep),
      () => grep !== this.filter.value);
  }

  draw(answer, grep) {
    if (!answer.lines.length) {
      return grep ? empty('No printed line has a match.', '')
        : empty('Nothing that was printed is kept.', 'To a pipe or a terminal it is with --flor_output 16.');
    }
    const rows = [];
    let epoch = NaN;
    for (const line of answer.lines) {
      if (line.epoch !== epoch) {
        epoch = line.epoch;
        rows.push(h('tr.place', {}, h('td'), h('td'), h('td', {}, epoch === null ? 'outside of the loops' : `epoch ${epoch}`)));
      }
      rows.push(h(line.stream === 'gap' ? 'tr.place' : 'tr', {title: line.loop || ''}, h('td', {title: line.time || ''}, (line.time || '').slice(11, 19)),
        h('td', {}, line.stream === 'stderr' ? 'stderr' : ''), h('td', {}, line.text)));
    }
    return [
      answer.lines.length < answer.total ? h('p.muted', {}, `the last ${grouped(answer.lines.length)} of ${grouped(answer.total)} lines`) : null,
      h('div.scroll', {tabindex: '0', role: 'region', 'aria-label': 'what was printed'},
        h('table.patch', {}, h('caption.hidden', {}, 'what was printed, by epochs'), h('tbody', {}, rows)))];
  }

  close() {}
}
