// The page of one history: its permanent address is copied by a button. Without scripts it is selected by hand.

import { gettext } from "../texts.js";

for (const button of document.querySelectorAll("[data-copy]")) {
  const field = document.querySelector(button.dataset.copy);
  const told = button.parentElement.querySelector("[data-copied]");
  button.hidden = false;
  button.addEventListener("click", async () => {
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      told.textContent = gettext("Copied.");
    } catch {
      told.textContent = gettext("Selected; copy it with the keyboard.");
    }
  });
}
for (const field of document.querySelectorAll("[data-permalink]")) field.addEventListener("focus", () => field.select());
