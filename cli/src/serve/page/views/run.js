// One run: its facts, and a tab for each kind of them.

class DetailsTab {
  constructor(run) {
    this.element = h('div');
    this.epochs = h('div');
    this.refresh(run);
  }

  refresh(run) {
    const values = (object) => pairs(Object.entries(object).map(([name, value]) => [name, valueText(value)]));
    const none = h('p.muted', {}, 'none');
    const build = run.build;
    fill(this.element,
      h('div.columns', {},
        section('Arguments', Object.keys(run.arguments).length ? values(run.arguments) : none),
        section('Environment', Object.keys(run.environment).length ? values(run.environment) : none)),
      section('Program', pairs([['command', h('code', {}, run.command.join(' '))], ['directory', run.directory], ['program', run.program],
        ['digest', run.program_digest], ['repository', run.repository], ['commit', run.commit || 'none: it was recorded without git'],
        ['built', build && [build.target, build.configuration, build.compiler, build.flags].filter(Boolean).join(', ')],
        ['stale', build && build.remark && `the program ${build.remark}`]])),
      filesSection('Inputs', 'inputs', run.inputs, 'from run', (each) => each.from),
      filesSection('Outputs', 'outputs', run.outputs, 'read by run', (each) => each.read_by),
      run.read_by.length ? section('Values and checkpoints read by', h('p', {}, someKin(run.read_by))) : null,
      run.group.length > 1 ? section('Ranks', table('ranks', [
        {title: 'rank', number: true, cell: (each) => each.rank},
        {title: 'run', cell: (each) => runLink(each.id)},
        {title: 'status', cell: (each) => state(each.status)}], run.group)) : null,
      run.resumptions.length ? section('Resumed', table('resumptions', [
        {title: 'when', cell: (each) => ago(each.resumed)},
        {title: 'at', cell: (each) => `epoch ${each.epoch}${each.loop ? `, step ${each.step} of ${each.loop}` : ''}`},
        {title: 'commit', cell: (each) => (each.commit ? each.commit.slice(0, 8) : '–')}], run.resumptions)) : null,
      run.has_epochs ? section('Epochs', this.epochs) : null);
    if (run.has_epochs) show(this.epochs, ask('epochs', {run: run.id}), (answer) => this.drawEpochs(answer.epochs));
  }

  drawEpochs(epochs) {
    const most = 200;
    const shown = epochs.length > most ? epochs.slice(-most) : epochs;
    return [
      epochs.length > most ? h('p.muted', {}, `the last ${most} of ${grouped(epochs.length)}`) : null,
      table('epochs', [
        {title: 'epoch', number: true, cell: (each) => each.epoch},
        {title: 'took', number: true, cell: (each) => duration(each.seconds)},
        {title: 'of which Flor', number: true, cell: (each) => duration(each.flor_seconds)},
        {title: 'nested loops', wide: true, cell: (each) => each.loops.map((loop) =>
          `${loop.loop}: ${plural(loop.iterations, 'iteration')} in ${duration(loop.seconds)}${loop.broke ? ', left early' : ''}`).join('; ') || '–'},
      ], shown)];
  }

  close() {}
}

class JobsTab extends JobsTable {
  constructor(run) {
    super(run.id);
  }
}

/// A report has one run: there is nothing that a link could lead to.
function runLink(id, place = '') {
  return h('a', {href: isReport ? null : `#/run/${id}`}, h('code', {}, id.slice(0, 8) + place));
}

function someForks(ids) {
  const most = 5;
  const links = ids.slice(-most).flatMap((id, i) => (i ? [' ', runLink(id)] : [runLink(id)]));
  return ids.length > most ? ['… ', ...links] : links;
}

/// The latest first; a run that is not in the store has no view.
function someKin(kin) {
  const most = 5;
  const links = kin.slice(0, most).flatMap((each, i) => [i ? ' ' : '',
    each.experiment === null ? h('code', {title: 'not in this store'}, each.run.slice(0, 8)) : runLink(each.run)]);
  return kin.length > most ? [...links, ' …'] : links;
}

function filesSection(title, name, files, kinTitle, kinOf) {
  if (!files.length) return null;
  return section(title, table(name, [
    {title: 'name', wide: true, cell: (each) => h('code', {title: each.place || ''}, each.name)},
    {title: 'kind', cell: (each) => each.kind},
    {title: 'size', number: true, cell: (each) => bytes(each.bytes) + (each.kind === 'directory' ? `, ${plural(each.files, 'file')}` : each.kind === 'query' ? `, ${plural(each.rows, 'row')}` : '')},
    {title: 'digest', cell: (each) => h('code', {title: each.digest}, each.digest.slice(0, 8))},
    {title: kinTitle, cell: (each) => (kinOf(each).length ? someKin(kinOf(each)) : '–')}], files));
}

const runTabs = [
  ['metrics', 'Metrics', MetricsTab], ['logged', 'Logged', LoggedTab], ['checkpoints', 'Checkpoints', CheckpointsTab],
  ['replays', 'Replays', ReplaysTab], ['jobs', 'Evaluations', JobsTab], ['sources', 'Sources', SourcesTab],
  ['printed', 'Printed', PrintedTab], ['machine', 'Machine', MachineTab],
  ['details', 'Details', DetailsTab],
];

class RunView {
  constructor(id, tab) {
    this.id = id;
    this.name = runTabs.some(([name]) => name === tab) ? tab : 'metrics';
    this.element = h('div.view', {}, h('p.muted', {}, '…'));
  }

  title() {
    return this.run ? `${this.run.experiment} ${this.run.id.slice(0, 8)}` : 'run';
  }

  async open() {
    try {
      this.run = await ask('run', {run: this.id});
    } catch (error) {
      fill(this.element, failure(error), h('p', {}, h('a', {href: '#/runs'}, 'back to the runs')));
      return;
    }
    document.title = `${this.title()} · flor`;
    this.head = h('div.head');
    this.tabs = h('div.tabs', {role: 'tablist', 'aria-label': 'parts of the run'});
    this.panel = h('div.panel', {role: 'tabpanel', id: 'panel'});
    fill(this.element, this.head, this.tabs, this.panel);
    this.drawHead();
    this.choose(this.name);
  }

  drawHead() {
    const run = this.run;
    const seconds = run.finished ? (Date.parse(run.finished) - Date.parse(run.started)) / 1000
      : run.status === 'running' ? (now() - Date.parse(run.started)) / 1000 : null;
    const toggle = isReport ? null : h('button', {type: 'button', id: 'choose', 'aria-pressed': String(chosen.has(run.id)),
      onclick: () => this.toggle()}, chosen.has(run.id) ? 'Chosen to compare' : 'Choose to compare');
    fill(this.head,
      h('div.title', {}, h('h1', {title: run.experiment}, run.experiment), h('code.id', {title: run.id}, run.id.slice(0, 8)),
        state(run.status, run.status + (run.degraded ? `, ${run.degraded}` : '')), h('span.grow'), toggle),
      h('ul.facts', {},
        h('li', {}, 'started ', ago(run.started)),
        seconds === null ? null : h('li', {}, run.status === 'running' ? 'for ' : 'took ', duration(seconds)),
        h('li', {}, plural(run.epochs, 'epoch')),
        h('li', {}, `${plural(run.checkpoints, 'checkpoint')}, ${bytes(run.stored_bytes)} of ${bytes(run.raw_bytes)}`),
        run.commit ? h('li', {title: run.commit}, 'commit ', h('code', {}, run.commit.slice(0, 8))) : null,
        run.forked_from ? h('li', {}, 'forked from ', runLink(run.forked_from.run, `@${run.forked_from.epoch}`)) : null,
        run.forks.length ? h('li', {}, `${plural(run.forks.length, 'fork')}: `, someForks(run.forks)) : null,
        run.tags.length ? h('li', {}, 'tags ', h('strong', {}, run.tags.join(' '))) : null,
        run.ranks > 1 ? h('li', {}, `rank ${run.rank} of ${run.ranks}`) : null,
        run.origin.kind === 'recorded' ? null : h('li', {}, `${run.origin.kind} from `, h('code', {}, run.origin.from), ' ', ago(run.origin.since))),
      run.note ? h('p.remark', {}, run.note) : null,
      run.message ? h('p.remark', {}, run.message) : null,
      run.degraded ? h('p.remark', {}, `The store could not be written for a while: ${run.degraded}.`) : null,
      run.resume_with ? h('p.remark', {}, 'It can be resumed: ', h('code', {}, run.resume_with)) : null);
  }

  drawTabs() {
    fill(this.tabs, runTabs.filter(([name]) => !isReport || this.isInReport(name)).map(([name, title]) => h('a', {
      role: 'tab', href: isReport ? `#${name}` : `#/run/${this.id}/${name}`, id: `tab-${name}`, 'aria-controls': 'panel', 'aria-selected': String(name === this.name),
    }, title, name === 'replays' && this.run.replays.length ? h('span.badge', {}, this.run.replays.length) : null)));
    this.panel.setAttribute('aria-labelledby', `tab-${this.name}`);
  }

  isInReport(name) {
    const needs = {jobs: 'jobs', sources: 'sources', checkpoints: 'checkpoints', logged: 'logged', printed: 'printed', machine: 'machine'}[name];
    return !needs || Object.keys(start.report.answers).some((question) => question.startsWith(`${needs}\n`));
  }

  choose(name) {
    this.name = runTabs.some(([other]) => other === name) ? name : 'metrics';
    if (!this.run) return;
    if (this.tab) this.tab.close();
    const Tab = runTabs.find(([other]) => other === this.name)[2];
    this.tab = new Tab(this.run);
    fill(this.panel, this.tab.element);
    this.drawTabs();
  }

  toggle() {
    chosen.toggle(this.id);
    this.drawHead();
    $('#choose').focus();
  }

  async refresh() {
    if (!this.run) return;
    try {
      this.run = await ask('run', {run: this.id});
    } catch {
      return;
    }
    const focus = document.activeElement && document.activeElement.id;
    this.drawHead();
    this.drawTabs();
    if (focus && $('#' + CSS.escape(focus))) $('#' + CSS.escape(focus)).focus();
    this.tab.refresh(this.run);
  }

  key(event) {
    const place = Number(event.key) - 1;
    if (event.key >= '1' && event.key <= '9' && place < runTabs.length) {
      location.hash = isReport ? `#${runTabs[place][0]}` : `#/run/${this.id}/${runTabs[place][0]}`;
    } else if (event.key === 'x' && !isReport) this.toggle();
    else if (event.key === 'u' && !isReport) location.hash = '#/runs';
    else return false;
    return true;
  }

  close() {
    if (this.tab) this.tab.close();
  }
}
