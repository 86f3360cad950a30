// Gets answers: from the server of the page, or from the page itself if it is a report.

const start = JSON.parse($('#data').textContent || '{}');
const isReport = Boolean(start.report);
/// The path of the page holds the token: /TOKEN/
const token = location.pathname.split('/')[1];

/// The server's clock, so that times agree with those that it writes.
const clockOffset = start.pulse ? Date.parse(start.pulse.now) - Date.now() : 0;
function now() {
  return isReport ? Date.parse(start.report.made) : Date.now() + clockOffset;
}

function query(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return new URLSearchParams(given).toString();
}

async function answerOf(response) {
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error || `the server answered ${response.status}`);
  return answer;
}

/// A connection that the server has just closed, since it was idle for a while, is no answer: a
/// question changes nothing and is asked again.
async function fetched(url, tries = 3) {
  try {
    return await fetch(url, {cache: 'no-store'});
  } catch {
    if (tries === 1) throw new Error('flor serve does not answer any more');
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
  return fetched(url, tries - 1);
}

/// The questions are those of docs/getting-at-the-data.md.
async function ask(path, parameters = {}) {
  if (isReport) return askReport(path, parameters);
  return answerOf(await fetched(`api/${path}?${query(parameters)}`));
}

/// A report has one answer to each question, for every part of a curve.
async function askReport(path, parameters) {
  const {columns, from, to, limit, smoothing, ...which} = parameters;
  const names = Object.keys(which).filter((name) => which[name] !== undefined && which[name] !== '').sort();
  const answer = start.report.answers[[path, ...names.map((name) => `${name}=${which[name]}`)].join('\n')];
  if (!answer) throw new Error('this is not part of the report');
  return answer;
}

async function change(path, parameters) {
  const response = await fetch(`api/${path}?${query(parameters)}`,
    {method: 'POST', headers: {'X-Flor-Token': token}});
  return answerOf(response);
}

function pictureUrl(object) {
  return isReport ? start.report.pictures[object] : `api/picture?${query({object})}`;
}

/// Calls back when the store has changed; asks only while the page is visible.
const pulse = {
  mark: start.pulse ? start.pulse.mark : '',
  listeners: new Set(),
  isLost: false,
  async beat() {
    if (document.hidden) return;
    try {
      const {mark} = await ask('pulse');
      this.say(false);
      if (mark === this.mark) return;
      this.mark = mark;
      for (const listener of [...this.listeners]) await listener();
    } catch {
      this.say(true);
    }
  },
  say(isLost) {
    const badge = $('#live');
    if (isLost !== this.isLost || !badge.textContent) {
      fill(badge, isLost ? state('failed', 'no answer') : state('live', 'live'));
    }
    this.isLost = isLost;
  },
  begin() {
    if (isReport) return;
    this.say(false);
    const next = async () => {
      await this.beat();
      setTimeout(next, 1000);
    };
    setTimeout(next, 1000);
    document.addEventListener('visibilitychange', () => this.beat());
  },
};
