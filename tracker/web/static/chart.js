// Draws the trend in the browser; a picture made by the service stands in while the scripts are not there.
const chart = document.getElementById("chart");

function inTheme(address) {
  return `${address}${address.includes("?") ? "&" : "?"}dark=${isDark()}`;
}

function showPicture() {
  const picture = document.createElement("img");
  picture.alt = chart.getAttribute("aria-label");
  picture.src = inTheme(chart.dataset.picture);
  chart.replaceChildren(picture);
}

async function draw() {
  const spec = await (await fetch(inTheme(chart.dataset.spec))).json();
  const place = document.createElement("div");
  place.className = "drawn";
  chart.replaceChildren(place);
  // `ast` draws with an interpreter, so that no text is ever run as code.
  const options = { actions: false, ast: true, renderer: "svg", defaultStyle: false, tooltip: { disableDefaultStyle: true } };
  await window.vegaEmbed(place, spec, options);
  chart.dataset.drawn = "true";
}

async function show() {
  try {
    if (!window.vegaEmbed) await import("/chart-scripts.js");
    await draw();
  } catch {
    showPicture();
  }
}

document.addEventListener("themechange", show);
show();
