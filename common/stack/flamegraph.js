// Zoom, search and keyboard for one picture. Names are read from its titles and only ever become
// text again. What is shown is kept in the address behind "#", so that a link opens the same view.
"use strict";
(() => {
const svg = document.currentScript.closest("svg");
const frames = svg.querySelector(".frames");
const boxes = svg.querySelector(".boxes");
if (!boxes)
	return;
const labels = svg.querySelector(".labels");
const rects = Array.from(boxes.children);
const count = rects.length;
const isIcicle = frames.classList.contains("icicle");

// ---- what there is: rects stand in the order of a walk, a parent before all below it ----

const number = (k, name) => parseFloat(rects[k].getAttribute(name));
const at = new Float64Array(count), width = new Float64Array(count);
const depth = new Int32Array(count), parent = new Int32Array(count).fill(-1);
const end = new Int32Array(count).fill(count); // behind the last one below
const indexOf = new Map();

const path = [];
for (let k = 0; k < count; k++) {
	indexOf.set(rects[k], k);
	at[k] = number(k, "x");
	width[k] = number(k, "width");
	depth[k] = Math.abs(number(k, "y") - number(0, "y")) / 16;
	while (path.length > depth[k])
		end[path.pop()] = k;
	if (k)
		parent[k] = path[path.length - 1];
	path.push(k);
}

const title = (k) => rects[k].firstChild.textContent;
const names = [];

// A title is "name (12 unit, 3%)". The root's name is known: it tells how often " (" is in the rest.
const marks = title(0).split(" (").length - 1;

function nameOf(k) {
	if (names[k] === undefined)
		names[k] = title(k).split(" (").slice(0, -marks).join(" (");
	return names[k];
}

function make(kind, attributes, text) {
	const inside = attributes.xmlns === undefined;
	const element = document.createElementNS(
		inside ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml", kind);

	for (const name in attributes)
		if (name !== "xmlns")
			element.setAttribute(name, attributes[name]);
	if (text !== undefined)
		element.textContent = text;
	return element;
}
const html = (kind, attributes, text) => make(kind, { xmlns: "", ...attributes }, text);

// ---- the controls; without script there are none ----

const bar = svg.querySelector(".bar");
const controls = html("div", { class: "controls" });
const field = html("input", { type: "search", size: 28, placeholder: "Search: / (regexp)",
			      "aria-label": "search, a regular expression" });
const ignore = html("input", { type: "checkbox", class: "ignore" });
const ignoreLabel = html("label", {}, "ignore case");
const reset = html("button", { type: "button" }, "Reset");
const matched = html("span", { class: "matched", role: "status" });
const details = html("div", { class: "details", "aria-live": "polite" });

function makeBar() {
	const foreign = make("foreignObject", { x: "0.8%", y: bar.dataset.y, width: "98.4%", height: 44 });
	const all = html("div", {});

	ignoreLabel.prepend(ignore);
	controls.append(field, ignoreLabel, reset, matched);
	all.append(controls, details);
	foreign.append(all);
	bar.append(make("rect", { class: "paper", y: bar.dataset.y, width: "100%", height: 46 }), foreign);
	frames.setAttribute("tabindex", "0");
	frames.setAttribute("aria-label", "frames: arrow keys move, Enter zooms, Escape shows all");
}

// A picture higher than the window: the controls stay in sight.
function follow() {
	const hidden = -svg.getBoundingClientRect().top - Number(bar.dataset.y);

	bar.setAttribute("transform", "translate(0," + Math.max(0, hidden) + ")");
}

// ---- drawing ----

const state = { zoom: 0, search: "", ignore: false };
const shown = new Uint8Array(count).fill(1), above = new Uint8Array(count);
const left = Float64Array.from(at), wide = Float64Array.from(width);
let here = -1; // the frame that the keyboard is on

function place(k, isShown, x, w, isAbove) {
	const rect = rects[k];

	if (shown[k] !== Number(isShown)) {
		shown[k] = Number(isShown);
		if (isShown)
			rect.removeAttribute("display");
		else
			rect.setAttribute("display", "none");
	}
	if (!isShown)
		return;
	if (left[k] !== x)
		rect.setAttribute("x", (left[k] = x) + "%");
	if (wide[k] !== w)
		rect.setAttribute("width", (wide[k] = w) + "%");
	if (isAbove !== Boolean(above[k])) {
		above[k] = Number(isAbove);
		rect.classList.toggle("above", isAbove);
	}
}

function drawBoxes() {
	const zoom = state.zoom, scale = 100 / width[zoom], callers = new Set();

	for (let k = parent[zoom]; k >= 0; k = parent[k])
		callers.add(k);
	for (let k = 0; k < count; k++)
		if (k >= zoom && k < end[zoom])
			place(k, true, (at[k] - at[zoom]) * scale, width[k] * scale, false);
		else
			place(k, callers.has(k), 0, 100, true);
}

const isWide = (character) => character.codePointAt(0) >= 0x1100;

function cut(name, cells) {
	if (/^[ -~]*$/.test(name))
		return name.length <= cells ? name : name.slice(0, cells - 2) + "..";
	const characters = Array.from(name);
	let all = 0, fits = 0;

	for (const c of characters) {
		all += isWide(c) ? 2 : 1;
		if (all <= cells - 2)
			fits++;
	}
	return all <= cells ? name : characters.slice(0, fits).join("") + "..";
}

let cell = 0; // pixels of a character, measured once

function measure() {
	const probe = make("text", {}, "0".repeat(100));

	labels.append(probe);
	cell = probe.getComputedTextLength() / 100 || 7.3;
	probe.remove();
}

function drawLabels() {
	const pixels = frames.getBoundingClientRect().width / 100;
	const drawn = document.createDocumentFragment();

	for (let k = 0; k < count; k++) {
		const room = wide[k] * pixels - 6;

		if (!shown[k] || room < 3 * cell)
			continue;
		drawn.append(make("text", { x: left[k] + "%", y: Number(rects[k].getAttribute("y")) + 11, dx: 3 },
				  cut(nameOf(k), Math.floor(room / cell))));
	}
	labels.replaceChildren(drawn);
}

// ---- search ----

const hit = new Uint8Array(count);

function pattern() {
	if (!state.search)
		return null;
	try {
		return new RegExp(state.search, state.ignore ? "i" : "");
	} catch (e) {
		return undefined;
	}
}

const percent = (share) => (share * 100).toFixed(2) + "%";

// A frame inside one that matched is not counted again.
function drawSearch() {
	const find = pattern(), zoom = state.zoom;
	let hits = 0, sum = 0, inView = 0, until = 0;

	for (let k = 0; k < count; k++) {
		const isHit = Boolean(find) && find.test(nameOf(k));

		if (isHit !== Boolean(hit[k])) {
			hit[k] = Number(isHit);
			rects[k].classList.toggle("hit", isHit);
		}
		if (!isHit)
			continue;
		hits++;
		if (k < until)
			continue;
		until = end[k];
		sum += width[k];
		if (k <= zoom && zoom < end[k])
			inView = width[zoom];
		else if (k > zoom && k < end[zoom])
			inView += width[k];
	}
	matched.textContent = find === undefined ? "not a regular expression" : !find ? "" :
		"matched " + percent(sum / width[0]) + " in " + hits + (hits === 1 ? " frame" : " frames") +
		(zoom ? ", " + percent(inView / width[zoom]) + " of this view" : "");
}

// ---- what is shown, and the address ----

function addressOf(s) {
	const p = new URLSearchParams();

	if (s.zoom)
		p.set("zoom", s.zoom);
	if (s.search)
		p.set("search", s.search);
	if (s.ignore)
		p.set("case", "ignore");
	return p.toString();
}

function stateOf(address) {
	const p = new URLSearchParams(address.replace(/^#/, ""));
	const zoom = Number(p.get("zoom"));

	return { zoom: Number.isInteger(zoom) && zoom > 0 && zoom < count ? zoom : 0,
		 search: p.get("search") || "", ignore: p.get("case") === "ignore" };
}

function show(wanted) {
	const isZoom = wanted.zoom !== state.zoom;

	Object.assign(state, wanted);
	if (field.value !== state.search)
		field.value = state.search;
	ignore.checked = state.ignore;
	if (isZoom) {
		drawBoxes();
		drawLabels();
	}
	drawSearch();
}

// Zooms can be undone by the browser's Back; letters of a search can't.
function go(changes) {
	const isZoom = "zoom" in changes && changes.zoom !== state.zoom;

	show({ ...state, ...changes });
	const address = "#" + addressOf(state);

	if (isZoom)
		location.hash = address;
	else
		location.replace(address);
}

// ---- mouse and keyboard ----

function moveTo(k) {
	if (k < 0 || k >= count)
		return;
	if (here >= 0)
		rects[here].classList.remove("here");
	here = k;
	rects[k].classList.add("here");
	rects[k].scrollIntoView({ block: "nearest" });
	details.textContent = title(k);
}

function zoomTo(k) {
	go({ zoom: k });
	if (here >= 0)
		moveTo(state.zoom);
}

const isNear = (k) => shown[k] && wide[k] > 0;

// The next frame on the same row, to the right (step 1) or the left (-1).
function beside(k, step) {
	for (let other = k + step; other >= 0 && other < count; other += step)
		if (depth[other] === depth[k] && isNear(other))
			return other;
	return k;
}

function firstBelow(k) {
	return k + 1 < end[k] && isNear(k + 1) ? k + 1 : k;
}

function moveBy(key) {
	if (here < 0 || !shown[here])
		return moveTo(state.zoom);
	if (key === "ArrowLeft" || key === "ArrowRight")
		return moveTo(beside(here, key === "ArrowRight" ? 1 : -1));
	const isDeeper = (key === "ArrowDown") === isIcicle;

	return moveTo(isDeeper ? firstBelow(here) : parent[here]);
}

function onKey(event) {
	const isField = event.target === field;

	if (event.ctrlKey || event.altKey || event.metaKey)
		return;
	if (event.key === "Escape" && isField)
		go({ search: "" }), frames.focus();
	else if (event.key === "Enter" && isField)
		frames.focus();
	else if (isField)
		return;
	else if (event.key === "/")
		field.focus(), field.select();
	else if (event.key === "Escape")
		zoomTo(0);
	else if (event.target === ignore || event.target === reset)
		return;
	else if (event.key === "Enter" && here >= 0)
		zoomTo(here);
	else if (event.key.startsWith("Arrow"))
		moveBy(event.key);
	else
		return;
	event.preventDefault();
}

function onClick(event) {
	if (event.target === reset)
		go({ zoom: 0, search: "", ignore: false });
	else if (indexOf.has(event.target))
		zoomTo(indexOf.get(event.target));
}

// One listener for the whole picture, however many frames it has.
const listener = {
	handleEvent(event) {
		switch (event.type) {
		case "click":
			return onClick(event);
		case "keydown":
			return onKey(event);
		case "input":
			return go({ search: field.value, ignore: ignore.checked });
		case "mouseover":
			details.textContent = indexOf.has(event.target) ? title(indexOf.get(event.target)) : "";
		}
	},
};

makeBar();
for (const type of ["click", "keydown", "input", "mouseover"])
	svg.addEventListener(type, listener);
svg.append(bar); // over the frames, when it follows
measure();
drawLabels();
show(stateOf(location.hash));
addEventListener("hashchange", () => {
	if (location.hash.replace(/^#/, "") !== addressOf(state))
		show(stateOf(location.hash));
});
addEventListener("resize", drawLabels);
addEventListener("scroll", follow, { passive: true });

// The root is at the bottom: begin there.
if (!isIcicle && !state.zoom && svg === document.documentElement && svg.getBoundingClientRect().height > innerHeight)
	scrollTo(0, svg.getBoundingClientRect().height);
})();
