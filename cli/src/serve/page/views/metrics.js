// The curves of a run, or of several that are compared.

/// Splits metrics into those worth a curve, and single numbers.
function splitMetrics(metrics) {
  const curves = [], singles = [];
  for (const [name, metric] of Object.entries(metrics)) {
    if (!['real', 'integer', 'boolean'].includes(metric.type)) continue;
    (metric.count > 1 ? curves : singles).push([name, metric]);
  }
  return {curves, singles};
}

class ChartGrid {
  /// `runs` as of Chart.
  constructor(runs) {
    this.runs = runs;
    this.view = rememberedView();
    this.charts = new Map();
    this.grid = h('div.charts');
    this.find = h('input.filter', {type: 'search', 'aria-label': 'find a metric', placeholder: 'find a metric',
      oninput: () => this.filter()});
    this.element = h('div', {}, h('div.toolbar', {}, this.find, chartControls(this.view, () => {
      for (const chart of this.charts.values()) chart.changed();
    }, runs.length > 1)), this.grid);
  }

/// `having(name)`: the runs that have the metric; by default all.
  show(names, having = () => this.runs) {
    this.find.hidden = names.length < 9;
    for (const name of names) {
      if (this.charts.has(name)) continue;
      const chart = new Chart({metric: name, runs: having(name), isOneOfMany: this.runs.length > 1, view: this.view});
      this.charts.set(name, chart);
      this.grid.append(chart.element);
    }
    this.grid.classList.toggle('few', this.charts.size < 3);
    this.filter();
  }

  filter() {
    const word = this.find.value.toLowerCase();
    for (const [name, chart] of this.charts) chart.element.hidden = !name.toLowerCase().includes(word);
  }

  refresh() {
    for (const chart of this.charts.values()) chart.refresh();
  }

  close() {
    for (const chart of this.charts.values()) chart.close();
  }
}

function originText(metric) {
  return metric.doubtful ? 'doubtful' : metric.evaluated ? 'evaluated' : metric.hindsight ? 'hindsight' : 'recorded';
}

class MetricsTab {
  constructor(run) {
    this.run = run;
    this.grid = new ChartGrid([{id: run.id, label: run.experiment, colour: 0}]);
    this.singles = h('div');
    this.element = h('div', {}, this.grid.element, this.singles);
    this.take(run);
  }

  take(run) {
    const {curves, singles} = splitMetrics(run.metrics);
    this.grid.element.hidden = !curves.length;
    this.grid.show(curves.map(([name]) => name));
    const columns = [
      {title: 'name', cell: ([name]) => name},
      {title: 'value', number: true, cell: ([, metric]) => valueText(metric.last)},
      {title: 'origin', cell: ([, metric]) => originText(metric)},
    ];
    fill(this.singles,
      singles.length ? section('Logged once', table('numbers that were logged once', columns, singles)) : null,
      !curves.length && !singles.length
        ? empty('No numbers were logged yet.', 'flor::log("loss", loss) in the program makes a curve here.') : null);
  }

  refresh(run) {
    this.take(run);
    this.grid.refresh();
  }

  close() {
    this.grid.close();
  }
}
