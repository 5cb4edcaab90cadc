// The theme, which is set before the first paint so that nothing moves or changes colour afterwards, and the key that
// leads to the search.
(() => {
  'use strict';
  const root = document.documentElement;
  let theme = '';
  try { theme = localStorage.getItem('theme') || ''; } catch { /* storage may be off */ }
  const apply = () => { if (theme) root.dataset.theme = theme; else delete root.dataset.theme; };
  apply();
  root.classList.add('js');
  if (location.search.length > 1) {
    // The initial list does not match the query in the URL. It is shown anyway if the search takes too long.
    root.classList.add('pending');
    // What will be said of the words has its line from the start.
    if (/[?&]q=[^&]/.test(location.search)) root.classList.add('asked');
    setTimeout(() => root.classList.remove('pending'), 5000);
  }
  addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      const box = document.getElementById('q');
      box.focus();
      box.select();
    }
  });
  addEventListener('DOMContentLoaded', () => {
    const key = document.querySelector('.seek kbd');
    if (key && /Mac|iP/.test(navigator.platform)) key.textContent = '⌘ K';
    const select = document.getElementById('theme');
    select.value = theme;
    select.addEventListener('change', () => {
      theme = select.value;
      apply();
      try { localStorage.setItem('theme', theme); } catch { /* then it lasts for this page */ }
    });
  });
})();
