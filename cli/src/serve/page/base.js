// Makes elements. Text only ever becomes text: no logged text is taken for markup.

/// h('td.number', {title: 'x'}, 'text', element, [more]): null and false children are left out.
/// Properties that begin with "on" are listeners; false and null ones are left out.
function h(what, properties, ...children) {
  const [name, ...classes] = what.split('.');
  const element = document.createElement(name || 'div');
  if (classes.length) element.className = classes.join(' ');
  for (const [key, value] of Object.entries(properties || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key in element && typeof value !== 'string') element[key] = value;
    else element.setAttribute(key, value === true ? '' : value);
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== false) element.append(String(child));
  }
}

/// Shapes are drawn with SVG; sizes and colours are attributes, as the page allows no inline style.
function svg(name, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  append(element, children);
  return element;
}

const $ = (selector, root = document) => root.querySelector(selector);

function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/// A table of `columns` [{title, number, cell(row)}] with a caption for screen readers.
function table(caption, columns, rows, rowProperties = () => ({})) {
  return h('div.scroll', {tabindex: '0', role: 'region', 'aria-label': caption},
    h('table', {},
      h('caption.hidden', {}, caption),
      h('thead', {}, h('tr', {}, columns.map((c) => h(c.number ? 'th.number' : 'th', {scope: 'col'}, c.title)))),
      h('tbody', {}, rows.map((row) => h('tr', rowProperties(row), columns.map((c, i) =>
        h((i === 0 ? 'th' : 'td') + (c.number ? '.number' : '') + (c.wide ? '.wide' : ''),
          i === 0 ? {scope: 'row'} : {}, c.cell(row))))))));
}

/// Names with their values below each other.
function pairs(rows) {
  return h('dl.pairs', {}, rows.filter(([, value]) => value !== null && value !== undefined && value !== '')
    .map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
}

function section(title, ...children) {
  return h('section', {}, h('h2', {}, title), children);
}

function empty(what, hint) {
  return h('p.empty', {}, h('strong', {}, what), hint ? h('span', {}, hint) : null);
}

function failure(error) {
  return h('p.failure', {role: 'alert'}, error.message || String(error));
}

/// Shows the result of a promise in `element`, or else its error; neither if `isOver`.
async function show(element, promise, make, isOver = () => false) {
  try {
    const answer = await promise;
    if (!isOver()) fill(element, make(answer));
  } catch (error) {
    if (!isOver()) fill(element, failure(error));
  }
}

function debounced(wait, action) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), wait);
  };
}

/// Settings remembered from visit to visit; a browser may refuse to keep them.
const memory = {
  get(key, otherwise) {
    try {
      const text = localStorage.getItem('flor.' + key);
      return text === null ? otherwise : JSON.parse(text);
    } catch {
      return otherwise;
    }
  },
  set(key, value) {
    try {
      localStorage.setItem('flor.' + key, JSON.stringify(value));
    } catch { /* not remembered then */ }
  },
};
