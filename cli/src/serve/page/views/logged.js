// Logged values other than numbers: histograms, pictures, tables, texts, tensors.

/// Items that were logged at one place belong together.
function groupsOf(items) {
  const groups = [];
  for (const item of items) {
    const key = JSON.stringify([item.epoch, item.step, item.loop, item.inner]);
    if (!groups.length || groups[groups.length - 1].key !== key) groups.push({key, items: []});
    groups[groups.length - 1].items.push(item);
  }
  return groups;
}

/// A slider over places; `draw(index)` fills the rest. `kept` remembers the chosen place for when
/// more values have come; the last place stays the last.
function stepper(name, groups, draw, kept) {
  const where = h('output.where');
  const slider = h('input', {type: 'range', min: '0', max: String(groups.length - 1), step: '1', value: String(groups.length - 1),
    'aria-label': `${name}: place in the run`, oninput: () => set(Number(slider.value))});
  const body = h('div');
  const last = groups.length - 1;
  const set = (index) => {
    slider.value = String(index);
    kept.place = index === last ? null : groups[index].key;
    const item = groups[index].items[0];
    const origin = item.verdict === 'recorded' ? '' : `, ${item.verdict}`;
    fill(where, placeText(item) + origin);
    slider.setAttribute('aria-valuetext', placeText(item));
    fill(body, draw(index, set));
  };
  const move = (by) => set(Math.max(0, Math.min(groups.length - 1, Number(slider.value) + by)));
  const bar = h('div.stepper', {hidden: groups.length < 2},
    h('button', {type: 'button', 'aria-label': 'the one before', onclick: () => move(-1)}, '‹'), slider,
    h('button', {type: 'button', 'aria-label': 'the next one', onclick: () => move(1)}, '›'), where);
  const before = kept.place ? groups.findIndex((group) => group.key === kept.place) : last;
  set(before < 0 ? last : before);
  return [groups.length < 2 ? h('p.muted.where', {}, placeText(groups[0].items[0])) : null, bar, body];
}

function totalText(answer) {
  return answer.items.length < answer.total
    ? h('p.muted', {}, `${answer.items.length} of ${grouped(answer.total)} are shown, evenly chosen`) : null;
}

// Histograms

function histogramRange(histograms) {
  const edges = histograms.filter((hist) => hist && hist.edges && hist.edges.length > 1);
  return [Math.min(...edges.map((hist) => hist.edges[0])), Math.max(...edges.map((hist) => hist.edges[hist.edges.length - 1]))];
}

/// Bars of one histogram, with the outlines of others over it.
function histogramBars(value, range, others) {
  const width = 560, height = 200, left = 8, bottom = 22;
  const [from, to] = range;
  const x = (v) => left + (width - 2 * left) * (v - from) / (to - from || 1);
  const density = (hist) => hist.counts.map((count, i) => count / (hist.edges[i + 1] - hist.edges[i] || 1));
  const all = [value, ...others].filter((hist) => hist && hist.counts && hist.counts.length);
  const top = Math.max(...all.flatMap(density), 1e-300);
  const y = (d) => height - bottom - (height - bottom - 8) * d / top;
  const outline = (hist) => {
    const densities = density(hist);
    let path = `M${x(hist.edges[0]).toFixed(1)} ${y(0)}`;
    densities.forEach((d, i) => {
      path += `V${y(d).toFixed(1)}H${x(hist.edges[i + 1]).toFixed(1)}`;
    });
    return `${path}V${y(0)}`;
  };
  const ticks = roundTicks(from, to, 5);
  const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, class: 'histogram', role: 'img', 'aria-label': histogramText(value)});
  others.filter((hist) => hist && hist.counts && hist.counts.length).forEach((hist, i, list) => {
    picture.append(svg('path', {d: outline(hist), class: 'ghost', 'stroke-opacity': (0.25 + 0.55 * i / list.length).toFixed(2)}));
  });
  if (value.counts && value.counts.length) picture.append(svg('path', {d: outline(value), class: 'bars'}));
  picture.append(svg('line', {x1: left, x2: width - left, y1: y(0), y2: y(0), class: 'base'}));
  ticks.forEach((v) => picture.append(svg('line', {x1: x(v), x2: x(v), y1: y(0), y2: y(0) + 4, class: 'base'}),
    svg('text', {x: Math.max(left + 10, Math.min(width - left - 10, x(v))), y: height - 5, 'text-anchor': 'middle'}, tick(v))));
  return picture;
}

function histogramText(value) {
  if (!value || !value.counts) return 'a histogram';
  const count = value.counts.reduce((a, b) => a + b, 0);
  const ends = value.edges && value.edges.length ? `, ${number(value.edges[0])} to ${number(value.edges[value.edges.length - 1])}` : '';
  const odd = [['nan', 'NaN'], ['inf', 'infinite'], ['-inf', 'minus infinite']]
    .filter(([key]) => value[key]).map(([key, word]) => `, ${grouped(value[key])} ${word}`).join('');
  return `${plural(count, 'value')}${ends}${odd}`;
}

/// All histograms over the run: a column for each, darker where more values lie.
function histogramCourse(groups, range, at, choose) {
  const [from, to] = range, rows = 60, columns = groups.length;
  const canvas = h('canvas.course', {width: columns, height: rows, role: 'img', 'aria-label': 'how the distribution changed over the run',
    title: 'the distribution over the run; a click chooses', onclick: (event) => {
      const box = canvas.getBoundingClientRect();
      choose(Math.min(columns - 1, Math.floor(columns * (event.clientX - box.left) / box.width)));
    }});
  const context = canvas.getContext('2d');
  const colour = theme.line(0);
  groups.forEach((group, column) => {
    const hist = group.items[0].value;
    if (!hist || !hist.counts || !hist.counts.length) return;
    const shares = new Array(rows).fill(0);
    // Each bin is shared out among the rows that it covers.
    hist.counts.forEach((count, i) => {
      const a = rows * (hist.edges[i] - from) / (to - from || 1), b = rows * (hist.edges[i + 1] - from) / (to - from || 1);
      for (let row = Math.max(0, Math.floor(a)); row < Math.min(rows, Math.max(Math.ceil(b), Math.floor(a) + 1)); ++row) {
        shares[row] += b > a ? count * (Math.min(b, row + 1) - Math.max(a, row)) / (b - a) : count;
      }
    });
    const most = Math.max(...shares, 1e-300);
    context.fillStyle = colour;
    shares.forEach((share, row) => {
      context.globalAlpha = Math.sqrt(Math.max(0, share) / most);
      context.fillRect(column, rows - 1 - row, 1, 1);
    });
  });
  context.globalAlpha = 1;
  const marker = h('div.marker');
  marker.style.left = `${100 * (at + 0.5) / columns}%`;
  return h('figure.course', {}, h('div.frame', {}, canvas, marker),
    h('figcaption.muted', {}, `${number(from)} to ${number(to)}, from ${placeText(groups[0].items[0])} to ${placeText(groups[columns - 1].items[0])}`));
}

function drawHistograms(answer, kept) {
  const groups = groupsOf(answer.items);
  const range = histogramRange(answer.items.map((item) => item.value));
  if (!Number.isFinite(range[0])) return h('p.muted', {}, 'they hold no finite values');
  let redraw = () => {};
  const box = h('input', {type: 'checkbox', checked: Boolean(kept.overlay), onchange: () => {
    kept.overlay = box.checked;
    redraw();
  }});
  const toggle = h('label', {hidden: groups.length < 2}, box, ' overlay the others');
  const body = stepper(answer.name, groups, (index, set) => {
    redraw = () => set(index);
    const value = groups[index].items[0].value;
// About twenty outlines can be told apart.
    const every = Math.ceil(groups.length / 20);
    const others = kept.overlay ? groups.filter((_, i) => i !== index && i % every === 0).map((group) => group.items[0].value) : [];
    return h('div.sides', {}, h('div', {}, histogramBars(value, range, others), h('p.muted', {}, histogramText(value))),
      groups.length > 1 ? histogramCourse(groups, range, index, set) : null);
  }, kept);
  return [toggle, body];
}

// Pictures

function loadPicture(object) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => resolve(image);
    image.onerror = () => reject(new Error('the picture cannot be read'));
    image.src = pictureUrl(object);
  });
}

/// Draws `over` on the picture: grey values set how strongly it is coloured, colours stay unchanged.
function blend(canvas, image, over, strength) {
  canvas.width = image.naturalWidth;
  canvas.height = image.naturalHeight;
  const context = canvas.getContext('2d');
  context.imageSmoothingEnabled = false;
  context.drawImage(image, 0, 0);
  if (!over) return;
  const layer = document.createElement('canvas');
  layer.width = canvas.width;
  layer.height = canvas.height;
  const pen = layer.getContext('2d', {willReadFrequently: true});
  pen.imageSmoothingEnabled = false;
  pen.drawImage(over, 0, 0, layer.width, layer.height);
  const pixels = pen.getImageData(0, 0, layer.width, layer.height);
  const p = pixels.data;
  let isGrey = true;
  for (let i = 0; i < p.length && isGrey; i += 4) isGrey = p[i] === p[i + 1] && p[i] === p[i + 2];
  for (let i = 0; isGrey && i < p.length; i += 4) {
    p[i + 3] = p[i];
    p[i] = 230;
    p[i + 1] = 60;
    p[i + 2] = 40;
  }
  pen.putImageData(pixels, 0, 0);
  context.globalAlpha = strength;
  context.drawImage(layer, 0, 0);
  context.globalAlpha = 1;
}

function samePlace(a, b) {
  return a.epoch === b.epoch && a.step === b.step && a.ordinal === b.ordinal && a.inner === b.inner;
}

function drawPicture(item, overlay) {
  const value = item.value;
  if (value.lost) return h('p.failure', {}, value.lost);
  const canvas = h('canvas.picture', {width: value.width, height: value.height, role: 'img',
    'aria-label': `${overlay.name}, ${placeText(item)}: ${value.width} by ${value.height} pixels`});
  // Small ones are shown large, pixel by pixel.
  const scale = Math.max(1, Math.min(Math.floor(256 / Math.max(value.width, value.height)), 16));
  canvas.style.width = `${Math.min(value.width * scale, 900)}px`;
  const other = overlay.items.find((each) => samePlace(each, item));
  Promise.all([loadPicture(value.object), other && other.value.object ? loadPicture(other.value.object) : null])
    .then(([image, over]) => blend(canvas, image, over, overlay.strength))
    .catch((error) => canvas.replaceWith(failure(error)));
  return h('figure.picture', {}, canvas, h('figcaption.muted', {}, `${value.width} × ${value.height}, ${['', 'grey', 'grey and alpha', 'RGB', 'RGBA'][value.channels]}`));
}

function drawPictures(answer, runId, names, kept) {
  const groups = groupsOf(answer.items);
  const overlay = {name: answer.name, items: [], strength: kept.strength || 0.5};
  let redraw = () => {};
  const strength = h('input', {type: 'range', min: '0', max: '1', step: '0.05', value: String(overlay.strength), 'aria-label': 'strength of the overlay',
    hidden: true, oninput: () => {
      overlay.strength = kept.strength = Number(strength.value);
      redraw();
    }});
  const others = names.filter((each) => each.type === 'image' && each.name !== answer.name);
  const choose = async () => {
    strength.hidden = !select.value;
    kept.over = select.value;
    overlay.items = select.value ? (await ask('values', {run: runId, name: select.value})).items : [];
    redraw();
  };
  const select = h('select', {onchange: choose}, h('option', {value: ''}, 'nothing'),
    others.map((each) => h('option', {value: each.name, selected: each.name === kept.over}, each.name)));
  const body = stepper(answer.name, groups, (index, set) => {
    redraw = () => set(index);
    return h('div.pictures', {}, groups[index].items.map((item) => drawPicture(item, overlay)));
  }, kept);
  if (select.value) choose();
  return [others.length ? h('div.controls', {}, h('label', {}, 'overlay ', select), strength) : null, body];
}

// The others

function drawTables(answer, kept) {
  const groups = groupsOf(answer.items);
  return stepper(answer.name, groups, (index) => groups[index].items.map((item) => drawTable(item.value)), kept);
}

function drawTexts(answer) {
  const columns = [
    {title: 'place', cell: placeText},
    {title: 'value', wide: true, cell: (item) => h('pre.text', {}, typeof item.value === 'string' ? item.value : JSON.stringify(item.value, null, 1))},
    {title: 'verdict', cell: (item) => item.verdict},
  ];
  return table(`values of ${answer.name}`, columns, answer.items);
}

function drawTensors(answer) {
  const columns = [
    {title: 'place', cell: placeText},
    {title: 'shape', cell: (item) => (item.value.lost ? item.value.lost : item.value.sizes.join(' × ') || 'a single number')},
    {title: 'type', cell: (item) => item.value.type || ''},
    {title: 'verdict', cell: (item) => item.verdict},
  ];
  return table(`tensors of ${answer.name}`, columns, answer.items);
}

class LoggedTab {
  constructor(run) {
    this.id = run.id;
    this.element = h('div', {}, h('p.muted', {}, '…'));
    this.seen = new Map();
    this.load();
  }

  async load() {
    try {
      const {names} = await ask('logged', {run: this.id});
      if (!names.length) {
        fill(this.element, empty('Only numbers were logged.', 'Histograms, pictures and tables of flor::log_histogram, log_image and log_table are drawn here.'));
        return;
      }
      if (!this.seen.size) fill(this.element);
      for (const each of names) this.take(each, names);
    } catch (error) {
      fill(this.element, failure(error));
    }
  }

  take(each, names) {
    const before = this.seen.get(each.name);
    if (before && before.count === each.count) return;
    const place = before ? before.place : h('section.logged');
    if (!before) this.element.append(place);
    const kept = before ? before.kept : {};
    this.seen.set(each.name, {count: each.count, place, kept});
    const body = before ? place.lastChild : h('div', {}, h('p.muted', {}, '…'));
    fill(place, h('h2', {}, each.name, ' ', h('span.kind', {}, each.type)), body);
    show(body, ask('values', {run: this.id, name: each.name}), (answer) => [this.draw(answer, names, kept), totalText(answer)]);
  }

  draw(answer, names, kept) {
    switch (answer.type) {
      case 'histogram': return drawHistograms(answer, kept);
      case 'image': return drawPictures(answer, this.id, names, kept);
      case 'table': return drawTables(answer, kept);
      case 'tensor': return drawTensors(answer);
      default: return drawTexts(answer);
    }
  }

  refresh() {
    this.load();
  }

  close() {}
}
