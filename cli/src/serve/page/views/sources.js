// Changes in the sources, file by file and line by line.

/// Splits a unified diff into its files.
function filesOf(patch) {
  const files = [];
  for (const line of patch.split('\n')) {
    if (line.startsWith('diff --git ')) files.push({title: line.slice(11).replace(/^a\/(.*) b\/\1$/, '$1'), lines: []});
    else if (files.length) files[files.length - 1].lines.push(line);
  }
  return files;
}

function drawFile(file) {
  let before = 0, after = 0;
  const rows = [];
  for (const line of file.lines) {
    const place = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (place) {
      before = Number(place[1]);
      after = Number(place[2]);
      rows.push(h('tr.place', {}, h('td'), h('td'), h('td', {}, line)));
    } else if (before || after) {
      const sign = line[0];
      if (sign === '+') rows.push(h('tr.added', {}, h('td'), h('td', {}, after++), h('td', {}, line)));
      else if (sign === '-') rows.push(h('tr.removed', {}, h('td', {}, before++), h('td'), h('td', {}, line)));
      else if (sign === ' ') rows.push(h('tr', {}, h('td', {}, before++), h('td', {}, after++), h('td', {}, line)));
      else if (line) rows.push(h('tr.place', {}, h('td'), h('td'), h('td', {}, line)));
    }
  }
  return h('details.file', {open: rows.length < 400}, h('summary', {}, file.title),
    rows.length ? h('div.scroll', {tabindex: '0', role: 'region', 'aria-label': `changes of ${file.title}`},
      h('table.patch', {}, h('caption.hidden', {}, `changes of ${file.title}`), h('tbody', {}, rows)))
      : h('p.muted', {}, 'its content is no text, or only its name or mode has changed'));
}

function drawSources(answer) {
  const name = (version) => h('a', {href: isReport ? null : `#/run/${version.run}`}, `${version.run.slice(0, 8)} (${version.commit ? version.commit.slice(0, 8) : 'no commit'})`);
  const between = answer.from ? h('p', {}, 'from ', name(answer.from), ' to ', name(answer.to)) : null;
  if (!answer.known) {
    return [between, empty('There is nothing to compare.', answer.remark || '')];
  }
  if (!answer.changes.length) return [between, empty('The sources are equal.', '')];
  const columns = [
    {title: 'file', cell: (each) => each.path},
    {title: 'kind', cell: (each) => ({A: 'added', D: 'deleted', M: 'modified', R: 'renamed'}[each.kind] || each.kind)},
    {title: 'added', number: true, cell: (each) => h('span.plus', {}, `+${each.added}`)},
    {title: 'removed', number: true, cell: (each) => h('span.minus', {}, `−${each.removed}`)},
  ];
  return [between, table('changed files', columns, answer.changes), filesOf(answer.patch).map(drawFile)];
}

class SourcesTab {
  constructor(run) {
    this.element = h('div', {}, h('p.muted', {}, '…'));
    show(this.element, ask('sources', {b: run.id}), (answer) => [
      h('p.muted', {}, 'What changed since the version before. To compare with another run, choose both in the list.'), drawSources(answer)]);
  }

  refresh() {}
  close() {}
}
