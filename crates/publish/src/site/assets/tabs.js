// The editors on the page of an agent as tabs.
(() => {
  'use strict';
  const KEY = 'editor';
  const setup = document.querySelector('.setup');
  const tabs = [...setup.querySelectorAll('.tabs a')];
  const panel = (tab) => document.getElementById(tab.hash.slice(1));
  const choose = (chosen) => {
    for (const tab of tabs) {
      const is = tab === chosen;
      tab.ariaSelected = is;
      tab.tabIndex = is ? 0 : -1;
      panel(tab).classList.toggle('on', is);
      // Where the tabs scroll, the chosen one is in sight.
      if (is) tab.parentElement.scrollLeft = tab.offsetLeft - 48;
    }
  };
  // The choice is kept for the next agent, and the address leads to it.
  const keep = (tab) => {
    choose(tab);
    try { localStorage.setItem(KEY, tab.hash); } catch { /* then it lasts for this page */ }
    history.replaceState(history.state, '', tab.hash);
  };
  const named = (hash) => tabs.find((tab) => tab.hash === hash);
  let last = '';
  try { last = localStorage.getItem(KEY); } catch { /* storage may be off */ }
  setup.querySelector('.tabs').setAttribute('role', 'tablist');
  for (const tab of tabs) {
    tab.setAttribute('role', 'tab');
    tab.id = `tab-${tab.hash.slice(1)}`;
    tab.setAttribute('aria-controls', tab.hash.slice(1));
    panel(tab).setAttribute('role', 'tabpanel');
    panel(tab).setAttribute('aria-labelledby', tab.id);
    tab.addEventListener('click', (event) => { event.preventDefault(); keep(tab); });
    tab.addEventListener('keydown', (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const at = tabs.indexOf(tab), end = tabs.length - 1;
      const to = { ArrowRight: at === end ? 0 : at + 1, ArrowLeft: at ? at - 1 : end, Home: 0, End: end, ' ': at }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      keep(tabs[to]);
      tabs[to].focus();
    });
  }
  choose(named(location.hash) || named(last) || tabs[0]);
  setup.classList.add('ready');
  addEventListener('hashchange', () => {
    const tab = named(location.hash);
    if (tab) choose(tab);
  });
})();
