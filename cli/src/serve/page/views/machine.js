// What the machine did while the run was recorded: curves over time, and a table.

class MachineTab {
  constructor(run) {
    this.run = run;
    this.charts = new Map();
    this.grid = h('div.charts');
    this.body = h('div', {}, h('p.muted', {}, '…'));
    this.element = h('div', {}, this.grid, this.body);
    this.refresh();
  }

  async refresh() {
    await show(this.body, ask('machine', {run: this.run.id}), (answer) => this.draw(answer));
    for (const chart of this.charts.values()) chart.refresh();
  }

  draw(answer) {
    if (!answer.samples) {
      return empty('The machine was not sampled.', 'The first sample comes after a second; --flor_machine none takes none.');
    }
    for (const {name} of answer.measures) {
      if (this.charts.has(name)) continue;
      const chart = new Chart({metric: `machine/${name}`, runs: [{id: this.run.id, label: this.run.experiment, colour: 0}],
        view: {axis: 'time', log: false, smoothing: 0}, height: 160});
      this.charts.set(name, chart);
      this.grid.append(chart.element);
    }
    const text = (measure, value) => (measure.unit === 'bytes' ? bytes(value) : measure.unit === 'bytes/s' ? `${bytes(value)}/s`
      : `${number(Number(value.toPrecision(3)))} ${measure.unit}`);
    return section(plural(answer.samples, 'sample'), table('the machine', [
      {title: 'measure', cell: (each) => each.name},
      ...['mean', 'min', 'max'].map((which) => ({title: which, number: true, cell: (each) => text(each, each[which])})),
    ], answer.measures));
  }

  close() {
    for (const chart of this.charts.values()) chart.close();
  }
}
