// The page "As of": the slider says its time while it moves, and shows it when it is let go; a time that is picked or
// typed whole is shown, too. Without this the buttons do the same.

import { language } from "../texts.js";

for (const form of document.querySelectorAll("form[data-slider]")) {
  const range = form.querySelector('input[type="range"]');
  const output = form.querySelector("output");
  // As the server writes it: the day first, the month in short.
  const words = new Intl.DateTimeFormat(language === "en" ? "en-GB" : language, {
    day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", hour12: false,
  });
  const say = () => {
    const text = words.format(new Date(Number(range.value) * 1000));
    output.value = text;
    range.setAttribute("aria-valuetext", text);
  };
  let waiting = 0;
  form.dataset.live = "";
  range.addEventListener("input", say);
  // Keys move it step by step: only where it comes to rest is looked up.
  range.addEventListener("change", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => form.requestSubmit(), 400);
  });
}

// While a year is typed it is one before the first, so the field is not valid.
const exact = document.getElementById("as-of-at");
let typing = 0;
exact?.addEventListener("change", () => {
  clearTimeout(typing);
  typing = setTimeout(() => exact.value && exact.checkValidity() && exact.form.requestSubmit(), 600);
});
