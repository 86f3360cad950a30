// The checkpoints of a run, each with why it was stored and why it is kept; and its replays.

function recordingText(recording) {
  if (!recording) return null;
  const rule = recording.every > 0 ? `every ${recording.every === 1 ? 'epoch' : recording.every + ' epochs'}, as --flor_every says`
    : `adaptive, at most ${number(100 * recording.epsilon)} % of the computing time`;
  const share = recording.computed_seconds > 0
    ? `, took ${number(Number((100 * recording.cost_seconds / recording.computed_seconds).toPrecision(2)))} %` : '';
  return `${rule}${share}; ${plural(recording.stored, 'epoch')} of ${grouped(recording.iterations)} stored`;
}

class CheckpointsTab {
  constructor(run) {
    this.id = run.id;
    this.element = h('div', {}, h('p.muted', {}, '…'));
    this.load();
  }

/// Planning retention takes the server longer than any other answer.
  refresh() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), Math.max(0, this.loaded + 5000 - Date.now()));
  }

  load() {
    this.loaded = Date.now();
    return show(this.element, ask('checkpoints', {run: this.id}), (answer) => this.draw(answer));
  }

  draw(answer) {
    const scores = [...new Set(answer.checkpoints.flatMap((each) => Object.keys(each.scores)))];
    const name = (each) => (each.saved ? `saved ${each.saved}` : each.epoch < 0 ? 'before the first epoch' : `epoch ${each.epoch}`);
    const columns = [
      {title: 'checkpoint', cell: name},
      ...scores.map((metric) => ({title: metric, number: true, cell: (each) => number(each.scores[metric])})),
      {title: 'raw', number: true, cell: (each) => bytes(each.raw_bytes)},
      {title: 'frees', number: true, cell: (each) => bytes(each.frees_bytes)},
      {title: 'taken', cell: (each) => ago(each.taken)},
      {title: 'why it was stored', wide: true, cell: (each) => each.why_stored || '–'},
      {title: 'why it is kept', wide: true, cell: (each) => each.why_kept || '–'},
    ];
    const gaps = [
      {title: 'epochs', cell: (each) => (each.first_epoch === each.last_epoch ? each.first_epoch : `${each.first_epoch}..${each.last_epoch}`)},
      {title: 'why not', wide: true, cell: (each) => each.reason},
    ];
    const deleted = [
      {title: 'checkpoint', cell: name},
      {title: 'deleted', cell: (each) => ago(each.deleted)},
      {title: 'content', cell: (each) => (each.collected ? 'gone' : 'there until flor gc; flor keep --undo brings it back')},
    ];
    return [
      pairs([['keeps', answer.strategy || 'everything: the program has no rule of its own'], ['stores', recordingText(answer.recording)],
        ['size', `${bytes(answer.stored_bytes)} in the store`]]),
      answer.checkpoints.length ? section('Stored', table('stored checkpoints', columns, answer.checkpoints,
        (each) => ({class: each.kept ? '' : 'faded'})))
        : empty('No checkpoints are stored.', 'A replay computes from the start.'),
      answer.not_stored.length ? section('Not stored', table('epochs without checkpoints', gaps, answer.not_stored)) : null,
      answer.deleted.length ? section('Deleted', table('deleted checkpoints', deleted, answer.deleted)) : null,
    ];
  }

  close() {
    clearTimeout(this.timer);
  }
}

class ReplaysTab {
  constructor(run) {
    this.element = h('div');
    this.refresh(run);
  }

  refresh(run) {
    const columns = [
      {title: 'replay', number: true, cell: (each) => each.id},
      {title: 'verdict', cell: (each) => (each.result ? state(each.result.verdict) : state('unfinished', 'not ended'))},
      {title: 'when', cell: (each) => ago(each.started)},
      {title: 'epochs', cell: (each) => (each.last_epoch < each.first_epoch ? '–' : `${each.first_epoch}..${each.last_epoch}`)},
      {title: 'segment', cell: (each) => `${each.segment}/${each.segments}`},
      {title: 'probed', cell: (each) => each.probes || '–'},
      {title: 'compared', cell: (each) => (each.result ? `${plural(each.result.values_compared, 'value')}, ${plural(each.result.states_compared, 'state')}` : '–')},
      {title: 'found', number: true, cell: (each) => (each.result ? grouped(each.result.values_found) : '–')},
      {title: 'first difference', wide: true, cell: (each) => (each.result && each.result.first_difference) || '–'},
    ];
    fill(this.element, run.replays.length ? table('replays', columns, [...run.replays].reverse())
      : empty('Not replayed yet.', `Add a flor::log, rebuild, then run flor replay ${run.id.slice(0, 8)}.`));
  }

  close() {}
}
