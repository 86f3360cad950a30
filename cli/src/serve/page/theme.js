// Light and dark: as the system prefers, unless the user chose here.

const theme = {
  chosen: memory.get('theme', 'auto'),
  listeners: new Set(),
  media: matchMedia('(prefers-color-scheme: dark)'),

  isDark() {
    return this.chosen === 'dark' || (this.chosen === 'auto' && this.media.matches);
  },
  apply() {
    document.documentElement.dataset.theme = this.isDark() ? 'dark' : 'light';
    const button = $('#theme');
    const name = {auto: 'as the system', light: 'light', dark: 'dark'}[this.chosen];
    fill(button, {auto: '◐', light: '☀', dark: '☾'}[this.chosen]);
    button.setAttribute('aria-label', `colours: ${name}`);
    button.title = `colours: ${name} (t changes it)`;
    for (const listener of this.listeners) listener();
  },
  next() {
    this.chosen = {auto: 'light', light: 'dark', dark: 'auto'}[this.chosen] || 'auto';
    memory.set('theme', this.chosen);
    this.apply();
  },
  colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  },
  /// Colours of curves, told apart by people who do not see all colours (Okabe and Ito).
  line(index) {
    const names = ['line-1', 'line-2', 'line-3', 'line-4', 'line-5', 'line-6', 'line-7', 'line-8'];
    return this.colour(names[index % names.length]);
  },
};
theme.media.addEventListener('change', () => theme.apply());
