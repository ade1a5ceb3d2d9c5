// Runs before the page is drawn, so that it never flashes in the wrong colours.
const chosen = localStorage.getItem("theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
