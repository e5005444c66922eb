// Sends an export as it is: first to hear what would come, then to store it. A part is stored at a time.

const form = document.querySelector("[data-import]");
const file = form.querySelector("input[type=file]");
const result = form.querySelector("[data-result]");
const check = form.querySelector("[data-check]");
const run = form.querySelector("[data-run]");

async function send(dry) {
  const options = {
    method: "POST",
    headers: { "Content-Type": "application/octet-stream", "X-CSRFToken": form.elements.csrfmiddlewaretoken.value },
    body: file.files[0],
  };
  const response = await fetch(`${form.dataset.import}${dry ? "?dry_run=1" : ""}`, options).catch(() => null);
  const answer = response ? await response.json().catch(() => null) : null;
  if (answer?.html) result.innerHTML = answer.html; // rendered and escaped by the server
  else result.textContent = answer?.message ?? answer?.detail ?? form.dataset.failed;
  result.classList.toggle("field-error", !answer?.html);
  return answer?.html ? answer : null;
}

async function work(step) {
  check.disabled = run.disabled = true;
  await step();
  check.disabled = run.disabled = false;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  work(async () => {
    const found = await send(true);
    run.hidden = !found;
    check.hidden = !!found;
  });
});

run.addEventListener("click", () =>
  work(async () => {
    let answer = await send(false);
    while (answer && !answer.complete) answer = await send(false);
    run.hidden = true;
    check.hidden = false;
  }),
);

file.addEventListener("change", () => {
  run.hidden = true;
  check.hidden = false;
  result.replaceChildren();
});
