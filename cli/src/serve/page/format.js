// Numbers, times and sizes in readable form, the same as the command line tool's.

/// 6 significant digits, as `flor list`.
function number(value) {
  if (value === null || value === undefined) return '–';
  if (typeof value !== 'number') return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value);
  const text = value.toPrecision(6);
  if (text.includes('e')) return text.replace(/\.?0+e/, 'e');
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/// About `count` round numbers between two.
function roundTicks(from, to, count) {
  const rough = (to - from) / count;
  if (!(rough > 0)) return [from];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const ticks = [];
  for (let i = Math.ceil(from / step); i * step <= to; ++i) ticks.push(i * step);
  return ticks;
}

function grouped(value) {
  return value.toLocaleString('en-US');
}

function bytes(count) {
  if (count === null || count === undefined) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    ++unit;
  }
  return `${unit > 0 && count < 9.95 ? count.toFixed(1) : Math.round(count)} ${units[unit]}`;
}

function duration(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  if (seconds < 1e-3) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${number(Number((seconds * 1e3).toPrecision(3)))} ms`;
  if (seconds < 60) return `${number(Number(seconds.toPrecision(3)))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, '0')} s`;
  return `${Math.floor(seconds / 3600)} h ${String(Math.floor(seconds / 60) % 60).padStart(2, '0')} min`;
}

/// "12 min ago", with the exact time as a tooltip; a report is read later than that.
function ago(time) {
  if (!time) return '–';
  if (isReport) return h('time', {datetime: time, title: time}, `${time.slice(0, 16).replace('T', ' ')} UTC`);
  const seconds = Math.max(0, (now() - Date.parse(time)) / 1000);
  const count = (n, word) => `${n} ${word}${n === 1 ? '' : 's'} ago`;
  let text = time.slice(0, 10);
  if (seconds < 2) text = 'just now';
  else if (seconds < 60) text = `${Math.floor(seconds)} s ago`;
  else if (seconds < 3600) text = `${Math.floor(seconds / 60)} min ago`;
  else if (seconds < 86400) text = count(Math.floor(seconds / 3600), 'hour');
  else if (seconds < 30 * 86400) text = count(Math.floor(seconds / 86400), 'day');
  return h('time', {datetime: time, title: time}, text);
}

function plural(count, word) {
  return `${grouped(count)} ${word}${count === 1 ? '' : 's'}`;
}

/// "epoch 3, step 20", "document 3 (a.pdf), page 0"
function placeText(item) {
  if (item.where) return item.where;
  if (item.epoch === null || item.epoch === undefined) return 'outside the loops';
  const parts = [`epoch ${item.epoch}`];
  if (item.step !== null && item.step !== undefined) parts.push(`step ${item.step}`);
  return parts.join(', ');
}

/// A value of any kind in a cell.
function valueText(value) {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'number') return number(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function state(name, extra) {
  return h(`span.state.is-${name}`, {}, extra || name);
}
