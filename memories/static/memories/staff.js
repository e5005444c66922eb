// What pages of staff add when scripts run: choosing rows, columns and density of a table, the keyboard in wide boxes.
// Each page works without it.

// What scrolls sideways can be reached by keyboard.
const reach = () => {
  for (const box of document.querySelectorAll(".scroll")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
};
reach();
window.addEventListener("resize", reach);

// What is typed in a form of a case outlasts the sending of another form, and a link: this tab keeps it.
const drafts = document.querySelector("[data-drafts]");
if (drafts) {
  const key = drafts.dataset.drafts;
  const stored = new Map([...drafts.querySelectorAll("[data-draft]")].map((form) => [form, new FormData(form)]));
  const typed = (form) => [...new FormData(form)].filter(([name, value]) => name !== "csrfmiddlewaretoken" && ("refused" in form.dataset || value !== stored.get(form).get(name)));
  for (const [draft, values] of JSON.parse(sessionStorage.getItem(key) ?? "[]")) {
    const form = drafts.querySelector(`[data-draft="${draft}"]`);
    for (const [name, value] of values) if (form?.elements[name]) form.elements[name].value = value;
    form?.closest("details")?.setAttribute("open", "");
  }
  let sent = null;
  document.addEventListener("submit", (event) => (sent = event.target));
  window.addEventListener("pagehide", () => {
    const kept = [...stored.keys()].filter((form) => form !== sent && typed(form).length);
    if (kept.length) sessionStorage.setItem(key, JSON.stringify(kept.map((form) => [form.dataset.draft, typed(form)])));
  });
  window.addEventListener("pageshow", () => {
    sent = null;
    sessionStorage.removeItem(key);
  });
}

// A text starts from the chosen one until somebody changes its words.
for (const choice of document.querySelectorAll("[data-starts]")) {
  const field = document.getElementById(choice.dataset.starts);
  let start = field.value;
  choice.addEventListener("change", () => {
    if (field.value !== start) return;
    field.value = start = choice.selectedOptions[0].dataset.text;
  });
}

// Deeds on chosen rows appear once a row is chosen.
const list = document.querySelector("[data-bulk]");
const bulk = list?.querySelector(".bulk");
if (bulk) {
  const rows = [...list.querySelectorAll(".action-select")];
  const head = list.querySelector("#action-toggle");
  const every = bulk.querySelector("[data-all]");
  const across = bulk.querySelector("[name=select_across]");
  const tell = () => {
    const chosen = rows.filter((row) => row.checked).length;
    bulk.hidden = !chosen;
    if (chosen < rows.length) across.value = "0";
    const count = bulk.querySelector("[data-count]");
    count.textContent = across.value === "1" ? every.textContent : count.dataset.count.replace("%(n)s", chosen);
    if (every) every.hidden = chosen < rows.length || across.value === "1";
    if (!head) return;
    head.checked = chosen > 0 && chosen === rows.length;
    head.indeterminate = chosen > 0 && chosen < rows.length;
  };
  list.addEventListener("change", (event) => {
    if (event.target === head) for (const row of rows) row.checked = head.checked;
    tell();
  });
  every?.addEventListener("click", () => {
    across.value = "1";
    tell();
  });
  tell();
}

// The columns and the density of a table, kept in this browser.
const table = document.querySelector("[data-table]");
const view = document.querySelector(".table-view");
if (table && view) {
  const key = `table:${table.dataset.table}`;
  const kept = { density: "", hidden: [], ...JSON.parse(localStorage.getItem(key) ?? "{}") };
  const heads = [...table.tHead.rows[0].cells];
  const show = () => {
    table.classList.toggle("is-compact", kept.density === "compact");
    for (const row of table.rows) {
      for (const [place, cell] of [...row.cells].entries()) cell.hidden = kept.hidden.includes(heads[place]?.textContent.trim());
    }
    for (const button of document.querySelectorAll("[data-density] button")) {
      button.setAttribute("aria-pressed", String(button.value === kept.density));
    }
    localStorage.setItem(key, JSON.stringify(kept));
    reach();
  };
  const columns = document.querySelector("[data-columns]");
  for (const head of heads) {
    const name = head.textContent.trim();
    if (!name) continue;
    const label = document.createElement("label");
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: !kept.hidden.includes(name) });
    box.addEventListener("change", () => {
      kept.hidden = box.checked ? kept.hidden.filter((each) => each !== name) : [...kept.hidden, name];
      show();
    });
    label.append(box, name);
    columns.append(label);
  }
  document.querySelector("[data-density]").addEventListener("click", (event) => {
    kept.density = event.target.value ?? "";
    show();
  });
  view.hidden = false;
  show();
}

// A field that follows others until it is written in, such as a short name of a name.
const follows = document.querySelector("[data-prepopulated]");
for (const { id, dependency_ids: from, maxLength } of JSON.parse(follows?.dataset.prepopulated ?? "[]")) {
  const field = document.querySelector(id);
  let own = Boolean(field.value);
  field.addEventListener("input", () => (own = true));
  for (const source of from.map((each) => document.querySelector(each))) {
    source.addEventListener("input", () => {
      if (own) return;
      const words = from.map((each) => document.querySelector(each).value).join(" ").normalize("NFKD");
      field.value = words.toLowerCase().replace(/[^\w\s-]/g, "").trim().replace(/[\s_-]+/g, "-").slice(0, maxLength);
    });
  }
}
