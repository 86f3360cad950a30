// The keyboard, and the window that explains it.

const keyTexts = [
  ['Everywhere', [['g r', 'runs'], ['g c', 'compare the chosen runs'], ['g e', 'evaluations'], ['t', 'light, dark, as the system'], ['?', 'this']]],
  ['Runs', [['j k ↓ ↑', 'move'], ['Enter', 'open the run'], ['x', 'choose it, to compare'], ['c', 'compare what is chosen'], ['/', 'find'], ['Esc', 'back to the list']]],
  ['A run', [['1 … 7', 'its parts'], ['x', 'choose it, to compare'], ['u', 'back to the runs']]],
  ['A plot', [['← →', 'move'], ['+ −', 'closer, farther'], ['0', 'all of it']]],
];

function showHelp() {
  const dialog = $('#keys');
  if (dialog.open) return dialog.close();
  fill(dialog, h('h2', {}, 'Keys'),
    h('div.columns', {}, keyTexts.map(([title, keys]) => h('section', {}, h('h3', {}, title),
      h('dl.pairs', {}, keys.map(([key, text]) => [h('dt', {}, key.split(' ').map((k) => [h('kbd', {}, k), ' '])), h('dd', {}, text)]))))),
    h('p.muted', {}, `flor ${start.version}. Plots are drawn by uPlot, © 2022 Leon Sorokin, under the MIT licence, which stands in this page's script.`),
    h('div.buttons', {}, h('button.main', {type: 'button', onclick: () => dialog.close()}, 'Close')));
  dialog.showModal();
}

let began = ''; // the first of two keys
function handleKey(event, view) {
  if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector('dialog[open]')) return;
  const field = event.target.closest('input, select, textarea');
  if (field) {
    const isText = field.type === 'search' || field.type === 'text';
    if (event.key === 'Escape' || (isText && event.key === 'Enter')) {
      field.blur();
      const list = $('.scroller');
      if (list) list.focus();
      event.preventDefault();
    }
    if (isText || field.tagName === 'SELECT' || field.type === 'range') return;
  }
  const both = began + event.key;
  began = event.key === 'g' && !isReport ? 'g' : '';
  const places = {gr: '#/runs', gc: `#/compare/${chosen.ids.join(',')}`, ge: '#/jobs'};
  let isDone = true;
  if (places[both]) location.hash = places[both];
  else if (event.key === '?') showHelp();
  else if (event.key === 't') theme.next();
  else isDone = Boolean(view && view.key(event));
  if (isDone) event.preventDefault();
}
