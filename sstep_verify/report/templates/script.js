"use strict";
for (const form of document.querySelectorAll(".filter")) {
  const rows = [...document.querySelectorAll("#" + form.dataset.table + " tbody tr")];
  const text = form.querySelector("input"), status = form.querySelector("select");
  const apply = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const content = row.textContent.toLowerCase();
      row.hidden = !(words.every(word => content.includes(word)) &&
        (!status.value || row.dataset.status === status.value));
      shown += !row.hidden;
    }
    form.querySelector("output").textContent = shown + " of " + rows.length + " rows";
  };
  form.hidden = false;
  form.addEventListener("input", apply);
  apply();
}
const open = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.tagName === "DETAILS") target.open = true;
};
addEventListener("hashchange", open);
open();
