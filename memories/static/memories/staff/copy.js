// An address or a token is copied by a button. Without scripts it is selected by hand.

import { gettext } from "../texts.js";

for (const button of document.querySelectorAll("[data-copy]")) {
  const from = document.querySelector(button.dataset.copy);
  const told = button.parentElement.querySelector("[data-copied]");
  button.hidden = false;
  button.addEventListener("click", async () => {
    if (from.select) from.select();
    else getSelection().selectAllChildren(from);
    try {
      await navigator.clipboard.writeText(from.value ?? from.textContent);
      told.textContent = gettext("Copied.");
    } catch {
      told.textContent = gettext("Selected; copy it with the keyboard.");
    }
  });
}
for (const field of document.querySelectorAll("[data-permalink]")) field.addEventListener("focus", () => field.select());
