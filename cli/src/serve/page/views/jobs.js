// Evaluations: their results, their output, and trying them again.

const jobStates = ['queued', 'leased', 'failed', 'done', 'dead', 'cancelled'];
const jobStateTexts = {
  queued: 'waiting', leased: 'at work', failed: 'to be tried again', done: 'done', dead: 'given up', cancelled: 'cancelled',
};

class JobsTable {
  /// `run`: an id, or nothing for all.
  constructor(run) {
    this.run = run;
    this.only = '';
    this.logs = new Map(); // by id: the log below its row
    this.filters = h('div.filters', {role: 'group', 'aria-label': 'states'});
    this.wrong = h('div');
    this.body = h('div', {}, h('p.muted', {}, '…'));
    this.element = h('div', {}, this.filters, this.wrong, this.body);
    this.refresh();
  }

  async refresh() {
    try {
      this.answer = await ask('jobs', {run: this.run});
      this.draw();
    } catch (error) {
      fill(this.body, failure(error));
    }
  }

  draw() {
    const {jobs, counts, total} = this.answer;
    if (!total) {
      fill(this.filters);
      fill(this.body, empty('No checkpoint was evaluated yet.', 'flor watch --evaluator judge.py:accuracy --experiment NAME evaluates each new one.'));
      return;
    }
    const focus = document.activeElement && document.activeElement.dataset.key;
    const filter = (name, text, count) => h('button' + (this.only === name ? '.on' : ''), {type: 'button', 'aria-pressed': String(this.only === name), 'data-key': `only ${name}`,
      onclick: () => {
        this.only = name;
        this.draw();
      }}, `${text} ${grouped(count)}`);
    fill(this.filters, filter('', 'all', total), jobStates.filter((name) => counts[name]).map((name) => filter(name, jobStateTexts[name], counts[name])));
    const shown = jobs.filter((job) => !this.only || job.state === this.only);
    fill(this.body, this.table(shown), jobs.length < total ? h('p.muted', {}, `the latest ${jobs.length} of ${grouped(total)}`) : null);
    if (focus) {
      const again = [...this.element.querySelectorAll('[data-key]')].find((element) => element.dataset.key === focus);
      if (again) again.focus();
    }
  }

  table(jobs) {
    const heads = ['job', 'state', 'checkpoint', 'evaluator', 'attempts', 'when', 'result', 'actions'];
    return h('div.scroll', {tabindex: '0', role: 'region', 'aria-label': 'evaluations'},
      h('table.jobs', {}, h('caption.hidden', {}, 'evaluations, the latest first'),
        h('thead', {}, h('tr', {}, heads.map((title) => h(title === 'job' || title === 'attempts' ? 'th.number' : 'th', {scope: 'col'},
          title === 'actions' ? h('span.hidden', {}, title) : title)))),
        h('tbody', {}, jobs.map((job) => [this.row(job), this.logRow(job, heads.length)]))));
  }

  row(job) {
    const path = job.run ? h('a', {href: `#/run/${job.run}`}, job.shown_path) : job.shown_path;
    return h('tr', {'data-id': String(job.id)},
      h('th.number', {scope: 'row'}, job.id),
      h('td', {}, state(job.state, jobStateTexts[job.state])),
      h('td', {title: job.path}, path), h('td', {title: job.evaluator || ''}, job.name),
      h('td.number', {title: 'attempts that failed'}, job.attempts), h('td', {}, ago(job.finished || job.at_work_since || job.added)),
      h('td.wide', {}, this.result(job)), h('td.actions', {}, this.actions(job)));
  }

  result(job) {
    if (job.result === null || job.result === undefined) return job.message || '–';
    if (typeof job.result !== 'object') return valueText(job.result);
    return Object.entries(job.result).map(([name, value]) => `${name} = ${valueText(value)}`).join(', ');
  }

  actions(job) {
    const button = (text, key, action) => h('button', {type: 'button', 'data-key': `${key} ${job.id}`, 'aria-label': `${text}, job ${job.id}`, onclick: action}, text);
    const canRetry = ['failed', 'dead', 'cancelled'].includes(job.state);
    const canCancel = ['queued', 'leased', 'failed'].includes(job.state);
    const isOpen = this.logs.has(job.id);
    return [
      canRetry && !isReport ? button('Retry', 'retry', () => this.change('retry', job)) : null,
      canCancel && !isReport ? button('Cancel', 'cancel', () => this.change('cancel', job)) : null,
      button(isOpen ? 'Hide log' : 'Log', 'log', () => this.toggleLog(job)),
    ];
  }

  async change(action, job) {
    try {
      fill(this.wrong);
      await change(action, {id: job.id});
    } catch (error) {
      fill(this.wrong, failure(error));
    }
    await this.refresh();
  }

  logRow(job, columns) {
    const log = this.logs.get(job.id);
    return log ? h('tr.log', {}, h('td', {colSpan: columns}, log)) : null;
  }

  toggleLog(job) {
    if (this.logs.delete(job.id)) return this.draw();
    const place = h('div', {}, h('p.muted', {}, '…'));
    this.logs.set(job.id, place);
    this.draw();
    return show(place, ask('log', {id: job.id}), ({attempts}) => (attempts.length
      ? attempts.map((each) => [h('p.muted', {}, `attempt ${each.number}`), h('pre.log', {tabindex: '0'}, each.text || '(nothing)')])
      : h('p.muted', {}, 'It wrote nothing on this machine.')));
  }

  close() {}
}

class JobsView {
  constructor() {
    this.table = new JobsTable();
    this.element = h('div.view', {}, h('h1', {}, 'Evaluations'), this.table.element);
  }

  title() {
    return 'evaluations';
  }

  open() {}
  refresh() {
    return this.table.refresh();
  }
  key() {
    return false;
  }
  close() {}
}
