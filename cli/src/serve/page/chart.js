// A metric of one run or several, drawn with uPlot. Only the visible part is asked for, thinned to
// the width of the drawing; zooming in asks again.

const axisNames = {epoch: 'epoch', step: 'step', time: 'time'};

/// "12 ms", "3 min", for ticks of an axis of time.
function timeTick(seconds) {
  if (seconds === 0) return '0';
  if (Math.abs(seconds) < 60) return `${number(Number(seconds.toPrecision(4)))} s`;
  if (Math.abs(seconds) < 3600) return `${number(Number((seconds / 60).toFixed(2)))} min`;
  return `${number(Number((seconds / 3600).toFixed(2)))} h`;
}

/// Short enough to stand beside an axis.
function tick(value) {
  if (value === null) return '';
  if (value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e6)) return value.toExponential(1).replace('.0e', 'e');
  return number(Number(value.toPrecision(6)));
}

class Chart {
  /// `runs`: [{id, label, colour: index}]; `isOneOfMany`: their labels name them; `view`:
  /// {axis, log, smoothing}, which may change later.
  constructor({metric, runs, isOneOfMany = false, view, height = 220}) {
    this.metric = metric;
    this.runs = runs;
    this.isOneOfMany = isOneOfMany;
    this.view = view;
    this.height = height;
    this.range = null; // the visible part, if not all
    this.turn = 0;
    this.summary = h('span.muted', {}, '');
    this.plot = h('div.plot', {tabindex: '0', role: 'img', 'aria-label': `${metric}: loading`});
    this.element = h('figure.chart', {},
      h('figcaption', {}, h('strong', {title: metric}, metric), this.summary),
      this.plot);
    this.plot.addEventListener('keydown', (event) => this.key(event));
    this.observer = new ResizeObserver(debounced(80, () => this.resized()));
    this.observer.observe(this.plot);
// Only visible curves are drawn.
    this.seen = false;
    this.watcher = new IntersectionObserver((entries) => {
      this.isVisible = entries.some((entry) => entry.isIntersecting);
      if (this.isVisible && (!this.seen || this.isStale)) this.load();
    }, {rootMargin: '200px'});
    this.watcher.observe(this.element);
    this.repaint = () => this.uplot && this.uplot.redraw(false);
    theme.listeners.add(this.repaint);
  }

/// Something has changed: asks for the visible part again.
  refresh() {
    if (this.isVisible) this.load();
    else this.isStale = true;
  }

  changed() {
    this.range = null;
    this.refresh();
  }

  close() {
    this.observer.disconnect();
    this.watcher.disconnect();
    theme.listeners.delete(this.repaint);
    if (this.uplot) this.uplot.destroy();
    this.isClosed = true;
  }

  questions() {
    const columns = Math.max(100, Math.round(this.plot.clientWidth * Math.min(devicePixelRatio, 2)));
    const [from, to] = this.range || [];
    const question = {metric: this.metric, axis: this.view.axis, columns, from, to};
    if (this.isMean()) return [{...question, runs: this.runs.map((run) => run.id).join(',')}];
    return this.runs.map((run) => ({...question, run: run.id}));
  }

/// Whether the runs are drawn as one. Times differ from run to run.
  isMean() {
    return Boolean(this.view.mean) && this.runs.length > 1 && this.view.axis !== 'time';
  }

  async load() {
    this.seen = true;
    this.isStale = false;
    const turn = ++this.turn;
    const questions = this.questions();
    const asked = questions.map((q) => ask('curve', q).catch((error) => ({error, series: []})));
    const smooth = this.view.smoothing > 0 && !isReport
      ? questions.map((q) => ask('curve', {...q, smoothing: this.view.smoothing}).catch(() => ({series: []})))
      : [];
    const [plain, smoothed] = await Promise.all([Promise.all(asked), Promise.all(smooth)]);
    // Another question was asked meanwhile.
    if (turn !== this.turn || this.isClosed) return;
    this.lines = [];
    this.gather(plain, smoothed.length > 0);
    this.gather(smoothed, false);
    const errors = plain.filter((answer) => answer.error);
    if (!this.lines.length) {
      this.drop();
      fill(this.plot, errors.length === plain.length && errors.length ? failure(errors[0].error)
        : empty('nothing to draw', 'it was logged outside the loops, or holds no numbers'));
      return;
    }
    this.describe(plain);
    this.draw();
  }

  gather(answers, isFaint) {
    answers.forEach((answer, i) => {
      for (const series of answer.series) {
        const run = this.isMean() ? {label: `mean of ${plural(series.runs, 'run')}`, colour: 0} : this.runs[i];
        const loop = answer.series.length > 1 ? series.loop : '';
        const label = [this.isOneOfMany ? run.label : '', loop].filter(Boolean).join(' ') || this.metric;
        const index = this.isOneOfMany ? run.colour : this.lines.filter((line) => !line.isFaint).length;
        this.lines.push({...series, label: isFaint ? `${label}, as logged` : label, isFaint, colour: isFaint ? this.lines.length : index, run});
        if (!series.low || isFaint) continue;
        for (const [name, y] of [['high', series.high], ['low', series.low]]) {
          this.lines.push({...series, y, label: `${name === 'low' ? '−' : '+'} deviation`, isEdge: true, colour: index, run});
        }
      }
    });
    // A faint curve has the colour of the smooth one.
    this.lines.forEach((line, i) => {
      if (line.isFaint) line.colour = this.isOneOfMany ? line.run.colour : i;
    });
  }

  describe(answers) {
// An answer includes the points next to the visible part, so that lines reach the edge.
    const [from, to] = this.range || [-Infinity, Infinity];
    let count = 0, doubtful = 0, least = Infinity, greatest = -Infinity, last = null;
    for (const answer of answers) {
      for (const series of answer.series) {
        count += series.count;
        if (series.doubtful) {
          doubtful += series.count;
          continue;
        }
        for (const [i, y] of series.y.entries()) {
          if (y === null || series.x[i] < from || series.x[i] > to) continue;
          least = Math.min(least, y);
          greatest = Math.max(greatest, y);
          last = y;
        }
      }
    }
    const isPart = this.range ? 'of what is seen: ' : '';
    const values = least <= greatest ? `, ${isPart}${number(least)} to ${number(greatest)}` : '';
    const doubt = !doubtful ? '' : doubtful === count ? ', doubtful' : `, ${number(doubtful)} of them doubtful`;
    const text = plural(count, this.isMean() ? 'mean' : 'value') + doubt + values;
    const full = doubtful > 0 && doubtful === count ? text : `${text}, last ${number(last)}`;
    fill(this.summary, this.runs.length > 1 ? text : full);
    this.element.classList.toggle('doubtful', doubtful > 0);
    this.plot.setAttribute('aria-label', `${this.metric} over ${axisNames[this.view.axis]}: ${full}. ` +
      'Keys: left and right move, plus and minus zoom, 0 shows all.');
  }

  data() {
    const tables = this.lines.map((line) => [line.x, line.y]);
    return tables.length === 1 ? tables[0] : uPlot.join(tables);
  }

/// The settings on which the drawing depends, besides its data.
  shape() {
    return JSON.stringify([this.view.axis, this.view.log, this.lines.map((line) => [line.label, line.isFaint, line.count > 1, line.doubtful, line.isEdge])]);
  }

  drop() {
    if (this.uplot) this.uplot.destroy();
    this.uplot = null;
    fill(this.plot);
  }

  draw() {
    const shape = this.shape();
    if (this.uplot && shape === this.drawn) {
      this.isSetting = true;
      this.uplot.setData(this.data(), false);
      const [from, to] = this.range || this.extent();
      this.uplot.setScale('x', {min: from, max: to});
      this.isSetting = false;
      return;
    }
    this.drop();
    this.drawn = shape;
    this.isSetting = true;
    this.uplot = new uPlot(this.options(), this.data(), this.plot);
    this.isSetting = false;
  }

  extent() {
    let least = Infinity, greatest = -Infinity;
    for (const line of this.lines) {
      if (!line.x.length) continue;
      least = Math.min(least, line.x[0]);
      greatest = Math.max(greatest, line.x[line.x.length - 1]);
    }
    return least < greatest ? [least, greatest] : [least - 0.5, least + 0.5];
  }

  options() {
    const isTime = this.view.axis === 'time';
    const text = () => theme.colour('muted'), line = () => theme.colour('line');
    const axis = {stroke: text, grid: {stroke: line, width: 1}, ticks: {stroke: line, width: 1, size: 4},
      font: '12px system-ui, sans-serif'};
    const series = this.lines.map((each) => {
      const colour = () => theme.line(each.colour) + (each.isFaint ? '55' : '');
      return {
        label: each.label, stroke: colour, width: each.doubtful || each.isEdge ? 0 : each.isFaint ? 1 : 1.5, spanGaps: false,
        points: each.isEdge ? {show: false} : each.doubtful ? {show: true, size: 7, width: 1.5, stroke: colour, fill: () => theme.colour('raised')}
          : each.x.length < 2 ? {show: true, size: 6, fill: colour} : {size: 5, fill: colour},
        value: (u, value) => number(value),
      };
    });
    return {
      width: this.plot.clientWidth || 400, height: this.height,
      scales: {
        x: {time: false, range: (u, least, greatest) => (least < greatest ? [least, greatest] : [least - 0.5, least + 0.5])},
        y: {distr: this.view.log ? 3 : 1},
      },
      axes: [
        {...axis, size: 34, values: (u, values) => values.map((v) => (isTime ? timeTick(v) : tick(v))), space: isTime ? 70 : 50},
        {...axis, size: 58, values: (u, values) => values.map(tick)},
      ],
      bands: this.lines.flatMap((each, i) => (each.isEdge && this.lines[i + 1] && this.lines[i + 1].isEdge && each.label.startsWith('+')
        ? [{series: [i + 1, i + 2], fill: () => `${theme.line(each.colour)}33`}] : [])),
      series: [{label: axisNames[this.view.axis], value: (u, v) => (v === null ? '–' : isTime ? timeTick(v) : number(v))}, ...series],
      legend: {show: true, live: true},
      cursor: {
        drag: {x: true, y: false, setScale: true},
        dataIdx: (u, which, index, value) => this.nearest(u, which, index, value),
        points: {size: 6},
      },
      hooks: {
        setScale: [(u, key) => this.scaled(u, key)],
        ready: [(u) => this.ready(u)],
      },
    };
  }

  /// Joined curves have places without a value: the nearest one counts.
  nearest(u, which, index) {
    if (which === 0 || u.data[which][index] !== undefined) return index;
    const values = u.data[which];
    for (let d = 1; d < 60; ++d) {
      if (values[index - d] !== undefined && values[index - d] !== null) return index - d;
      if (values[index + d] !== undefined && values[index + d] !== null) return index + d;
    }
    return index;
  }

  ready(u) {
    u.over.addEventListener('dblclick', () => this.lookAt(null));
  }

/// The user has selected a part of the curve.
  scaled(u, key) {
    if (key !== 'x' || this.isSetting) return;
    const {min, max} = u.scales.x;
    const [from, to] = this.extent();
    if (this.range ? min === this.range[0] && max === this.range[1] : min === from && max === to) return;
    this.lookAt([min, max]);
  }

  lookAt(range) {
    this.range = range;
    this.element.classList.toggle('zoomed', Boolean(range));
    this.load();
  }

  key(event) {
    if (!this.uplot || event.ctrlKey || event.altKey || event.metaKey) return;
    const [from, to] = this.range || this.extent();
    const width = to - from;
    const moves = {
      ArrowLeft: [from - width / 4, to - width / 4], ArrowRight: [from + width / 4, to + width / 4],
      '+': [from + width / 4, to - width / 4], '=': [from + width / 4, to - width / 4],
      '-': [from - width / 2, to + width / 2], 0: null,
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    event.stopPropagation();
    this.lookAt(moves[event.key]);
  }

  resized() {
    const width = this.plot.clientWidth;
    if (!this.uplot || !width || width === this.uplot.width) return;
    this.isSetting = true;
    this.uplot.setSize({width, height: this.height});
    this.isSetting = false;
    this.refresh();
  }
}

/// Buttons and the slider for drawing curves; `view` is changed and remembered, but for `mean`, which
/// is there where there are several runs.
function chartControls(view, changed, hasMeans = false) {
  const set = (name, value) => {
    view[name] = value;
    memory.set('view', {axis: view.axis, log: view.log, smoothing: view.smoothing});
    changed();
  };
  const select = h('select', {id: 'axis', onchange: (event) => set('axis', event.target.value)},
    Object.entries(axisNames).map(([name, text]) => h('option', {value: name, selected: name === view.axis}, text)));
  const shown = h('output', {}, view.smoothing ? view.smoothing.toFixed(2) : 'off');
  const slow = debounced(120, (value) => set('smoothing', value));
  const slider = h('input', {id: 'smoothing', type: 'range', min: '0', max: '0.99', step: '0.01', value: String(view.smoothing),
    oninput: (event) => {
      const value = Number(event.target.value);
      fill(shown, value ? value.toFixed(2) : 'off');
      slow(value);
    }});
  const log = h('input', {id: 'log', type: 'checkbox', checked: view.log, onchange: (event) => set('log', event.target.checked)});
  const mean = h('input', {id: 'mean', type: 'checkbox', onchange: (event) => {
    view.mean = event.target.checked;
    changed();
  }});
  return h('div.controls', {},
    h('label', {}, 'over ', select),
    isReport ? null : h('label', {}, 'smooth ', slider, shown),
    h('label', {}, log, ' log scale'),
    hasMeans ? h('label', {title: 'their mean, in a band of one sample deviation to either side; not over time'}, mean, ' as one') : null,
    h('span.muted.hint', {}, 'draw over a part to see it closer, double-click to see all'));
}

function rememberedView() {
  const kept = memory.get('view', {});
  return {
    axis: kept.axis in axisNames ? kept.axis : 'step',
    log: kept.log === true,
    smoothing: kept.smoothing > 0 && kept.smoothing < 1 ? kept.smoothing : 0,
  };
}
