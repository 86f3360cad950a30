// Tables that were logged: matrices of counts as confusion matrices, the others as they are.

/// Whether it is a confusion matrix: square, of counts, with equal names for rows and columns.
function isConfusion(value) {
  const {columns, rows, row_names: names} = value;
  if (!Array.isArray(rows) || !Array.isArray(columns) || rows.length < 2 || rows.length > 60) return false;
  if (rows.some((row) => row.length !== rows.length || row.some((n) => !Number.isInteger(n) || n < 0))) return false;
  return !names || !names.length || names.every((name, i) => name === columns[i]);
}

function confusionMatrix(value) {
  const {columns, rows} = value;
  const sums = rows.map((row) => row.reduce((a, b) => a + b, 0));
  const heights = columns.map((_, i) => rows.reduce((a, row) => a + row[i], 0));
  const all = sums.reduce((a, b) => a + b, 0);
  const right = rows.reduce((a, row, i) => a + row[i], 0);
  const percent = (part, whole) => (whole ? `${(100 * part / whole).toFixed(1)} %` : '–');
  const cell = (count, i, j) => {
    const share = sums[i] ? count / sums[i] : 0;
    const td = h('td.number.cell' + (i === j ? '.right' : '.wrong'), {
      title: `${columns[i]} predicted as ${columns[j]}: ${grouped(count)} of ${grouped(sums[i])}, ${percent(count, sums[i])}`,
    }, count || h('span.zero', {}, '0'));
// A few mistakes should be visible beside many hits.
    td.style.setProperty('--heat', `${Math.round(100 * Math.sqrt(share) * 0.9)}%`);
    if (Math.sqrt(share) * 0.9 > 0.55) td.classList.add('hot');
    return td;
  };
  return h('div.scroll', {tabindex: '0', role: 'region', 'aria-label': 'confusion matrix'},
    h('table.confusion', {},
      h('caption', {}, h('strong', {}, `accuracy ${percent(right, all)}`),
        ` (${grouped(right)} of ${grouped(all)}) · rows: actual, columns: predicted`),
      h('thead', {}, h('tr', {}, h('th.corner', {scope: 'col'}, 'actual \\ predicted'),
        columns.map((name) => h('th.number', {scope: 'col'}, name)),
        h('th.number.edge', {scope: 'col', title: 'share of the row that is right'}, 'recall'))),
      h('tbody', {}, rows.map((row, i) => h('tr', {}, h('th', {scope: 'row'}, columns[i]),
        row.map((count, j) => cell(count, i, j)), h('td.number.edge', {}, percent(row[i], sums[i])))),
      h('tr', {}, h('th.edge', {scope: 'row', title: 'share of the column that is right'}, 'precision'),
        columns.map((_, i) => h('td.number.edge', {}, percent(rows[i][i], heights[i]))), h('td.edge', {}, '')))));
}

function plainTable(value) {
  const {columns = [], rows = [], row_names: names} = value || {};
  const most = 500, hasNames = names && names.length > 0;
  const heads = columns.map((title, i) => ({title, number: true, cell: (row) => valueText(row.values[i])}));
  const first = {title: '', cell: (row) => row.name};
  const shown = rows.slice(0, most).map((values, i) => ({values, name: hasNames ? names[i] : String(i)}));
  return [table('a logged table', [first, ...heads], shown),
    rows.length > most ? h('p.muted', {}, `the first ${most} of ${grouped(rows.length)} rows`) : null];
}

function drawTable(value) {
  if (!value || !Array.isArray(value.rows)) return h('pre.text', {}, valueText(value));
  return isConfusion(value) ? confusionMatrix(value) : plainTable(value);
}
