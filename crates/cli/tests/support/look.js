// Looks at every text and every shape where the browser put it, and tells what is wrong: what lies outside its picture or on another
// text, what is too faint or too small to be read, what makes the page wider than its window.
const READABLE_CONTRAST = 4.5;
const READABLE_PIXELS = 9;
const wrong = new Set();
addEventListener("error", it => wrong.add(`error: ${it.message}`));

// Of a computed colour, 0 to 1, and how much of it covers what is below.
function channels(colour) {
  const [red, green, blue, opacity = 1] = colour.match(/[\d.]+/g).map(Number);
  return { parts: [red, green, blue].map(it => it / 255), opacity };
}

function luminance(colour) {
  const [red, green, blue] = channels(colour).parts.map(it => it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

function background(element) {
  for (let it = element; it; it = it.parentElement) {
    const colour = getComputedStyle(it).backgroundColor;
    if (channels(colour).opacity === 1) return colour;
  }
  return "rgb(255, 255, 255)";
}

function read(element) {
  const style = getComputedStyle(element);
  const inPicture = element instanceof SVGElement;
  const ratio = contrast(inPicture ? style.fill : style.color, background(element));
  const { a, b } = inPicture ? element.getScreenCTM() : { a: 1, b: 0 };
  const pixels = parseFloat(style.fontSize) * Math.hypot(a, b);
  const text = element.textContent.slice(0, 40);
  if (ratio < READABLE_CONTRAST) wrong.add(`'${text}' is too faint: ${ratio.toFixed(1)}`);
  if (pixels < READABLE_PIXELS) wrong.add(`'${text}' is too small: ${pixels.toFixed(1)}`);
}

function lookAt(picture, at) {
  const frame = picture.getBoundingClientRect();
  const inside = it => it.left >= frame.left - 1 && it.right <= frame.right + 1 && it.top >= frame.top - 1
    && it.bottom <= frame.bottom + 1;
  const shapes = picture.querySelectorAll("path, polyline, polygon, circle, text");
  for (const it of shapes) {
    if (!inside(it.getBoundingClientRect())) wrong.add(`${at}: a ${it.tagName} lies outside: ${it.textContent}`);
  }
  const texts = [...picture.querySelectorAll("text")].map(it => [it.textContent, it.getBoundingClientRect()]);
  texts.forEach(([one, a], i) => texts.slice(i + 1).forEach(([other, b]) => {
    const apart = a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
    if (!apart) wrong.add(`${at}: '${one}' lies on '${other}'`);
  }));
  return shapes.length;
}

addEventListener("load", () => {
  let shapes = 0;
  document.querySelectorAll("svg").forEach((picture, at) => shapes += lookAt(picture, at));
  document.querySelectorAll("h1, h2, p, li, th, td, text").forEach(read);
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) wrong.add(`${scrollWidth} pixels wide in a window of ${clientWidth}`);
  const dark = luminance(background(document.body)) < 0.2;
  parent.postMessage(`${innerWidth} ${dark ? "dark" : "light"} ${shapes}: ${[...wrong].join("; ") || "all well"}`, "*");
});
