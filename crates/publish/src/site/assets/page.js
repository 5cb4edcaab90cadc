// Collapsible sections and copy buttons.
(() => {
  'use strict';
  const open = () => {
    const part = document.getElementById(location.hash.slice(1));
    if (part && part.tagName === 'DETAILS') part.open = true;
  };
  addEventListener('hashchange', open);
  open();
  const status = document.getElementById('copied');
  for (const button of document.querySelectorAll('.copy')) {
    let timer;
    button.addEventListener('click', async () => {
      const code = button.parentElement.querySelector('code');
      let said = 'Copied';
      try {
        await navigator.clipboard.writeText(code.textContent);
      } catch {
        getSelection().selectAllChildren(code);
        said = 'Selected';
      }
      button.lastElementChild.textContent = said;
      button.classList.add('said');
      status.textContent = said === 'Copied' ? 'Copied' : 'The text is selected: press Ctrl C or ⌘ C';
      clearTimeout(timer);
      timer = setTimeout(() => { button.lastElementChild.textContent = 'Copy'; button.classList.remove('said'); status.textContent = ''; }, 3000);
    });
  }
})();
