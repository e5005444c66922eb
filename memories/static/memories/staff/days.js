// A day may be typed in any usual form, or picked: a calendar button beside the field fills it in.

for (const field of document.querySelectorAll("[data-day]")) {
  const picker = field.parentElement.querySelector("[data-day-picker]");
  picker.hidden = false;
  if (/^\d{4}-\d{2}-\d{2}$/.test(field.value)) picker.value = field.value;
  picker.addEventListener("change", () => {
    if (picker.value) field.value = picker.value;
  });
}
