// The texts of scripts in the language of the page: #texts holds them by their English (memoryhub/languages.py).

const texts = JSON.parse(document.getElementById("texts")?.textContent ?? "{}");

export const language = document.documentElement.lang || "en";

export const gettext = (text) => texts[text] ?? text;

// All languages of the pages have two forms, as English does.
export const ngettext = (one, many, number) => (texts[one] ?? [one, many])[number === 1 ? 0 : 1];

// Puts values where a text has %(name)s.
export const fill = (text, values) => text.replace(/%\((\w+)\)s/g, (_whole, name) => values[name]);
