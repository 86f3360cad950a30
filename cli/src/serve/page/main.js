// Chooses the view by the part of the address after '#'.

let view = null;

function navigation() {
  const here = location.hash.split('/')[1] || 'runs';
  const link = (name, href, text) => h('a', {href, 'aria-current': here === name || (name === 'runs' && here === 'run') ? 'page' : null}, text);
  fill($('nav'), isReport ? null : [
    link('runs', '#/runs', 'Runs'),
    link('compare', `#/compare/${chosen.ids.join(',')}`, ['Compare', chosen.ids.length ? h('span.badge', {}, chosen.ids.length) : null]),
    link('jobs', '#/jobs', 'Evaluations'),
  ]);
}

function newView(parts) {
  if (isReport) return new RunView(start.report.run, location.hash.slice(1));
  if (parts[1] === 'run' && parts[2]) return new RunView(parts[2], parts[3]);
  if (parts[1] === 'compare') return new CompareView((parts[2] || '').split(',').filter(Boolean));
  if (parts[1] === 'jobs') return new JobsView();
  return new RunsView();
}

function route() {
  const parts = decodeURI(location.hash).split('/');
  // Another part of the same run is no other view.
  if (view instanceof RunView && (isReport || (parts[1] === 'run' && parts[2] === view.id))) {
    view.choose(isReport ? location.hash.slice(1) : parts[3]);
    navigation();
    return;
  }
  if (view) view.close();
  view = newView(parts);
  fill($('#main'), view.element);
  document.title = `${view.title()} · flor`;
  navigation();
  scrollTo(0, 0);
  view.open();
  if (view instanceof RunsView) view.scroller.focus({preventScroll: true});
}

theme.apply();
$('#theme').addEventListener('click', () => theme.next());
$('#help').addEventListener('click', showHelp);
fill($('#place'), isReport ? `report of ${start.report.made.slice(0, 16).replace('T', ' ')} UTC` : start.home || '');
$('#place').title = start.home || '';
chosen.listeners.add(navigation);
addEventListener('hashchange', route);
addEventListener('keydown', (event) => handleKey(event, view));
pulse.listeners.add(() => view && view.refresh());
route();
pulse.begin();
