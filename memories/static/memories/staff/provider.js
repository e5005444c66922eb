// An identity provider's form shows the fields and addresses of the chosen protocol alone. Without scripts it shows all.

const protocol = document.querySelector("#id_kind");
const parts = { oidc: ".field-client_id", saml: ".field-metadata" };
const show = () => {
  for (const [kind, field] of Object.entries(parts)) {
    const part = document.querySelector(field)?.closest("fieldset");
    if (part) part.hidden = kind !== protocol.value;
  }
  for (const row of document.querySelectorAll("[data-protocol]")) row.hidden = row.dataset.protocol !== protocol.value;
};
if (protocol) {
  protocol.addEventListener("change", show);
  show();
}
