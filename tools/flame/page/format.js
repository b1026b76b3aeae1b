'use strict';
// Amounts and names as people read them.

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

// "81.7 MiB": one digit behind the point, and never 1024 of a unit.
function formatBytes(value) {
  let amount = Math.abs(value), unit = 0;
  while (unit + 1 < BYTE_UNITS.length && Number(amount.toFixed(unit ? 1 : 0)) >= 1024) {
    amount /= 1024;
    unit++;
  }
  return (value < 0 ? '−' : '') + amount.toFixed(unit ? 1 : 0) + ' ' + BYTE_UNITS[unit];
}

// "1,234,567".
function formatCount(value) {
  return Math.round(value).toLocaleString('en-US').replace('-', '−');
}

function formatAmount(value, unit) {
  return unit === 'bytes' ? formatBytes(value) : formatCount(value);
}

function formatChange(value, unit) {
  return (value > 0 ? '+' : '') + formatAmount(value, unit);
}

// "12.3 %", and as many digits as a small share needs.
function formatPercent(share) {
  const percent = 100 * share;
  if (percent !== 0 && Math.abs(percent) < 0.1) return percent.toPrecision(1).replace('-', '−') + ' %';
  return percent.toFixed(1).replace('-', '−') + ' %';
}

// "2 min 5 s", "1.25 s", "3.1 ms".
function formatSeconds(seconds) {
  if (seconds >= 3600) return Math.floor(seconds / 3600) + ' h ' + Math.floor(seconds % 3600 / 60) + ' min';
  if (seconds >= 60) return Math.floor(seconds / 60) + ' min ' + Math.floor(seconds % 60) + ' s';
  if (seconds >= 1) return seconds.toPrecision(3) + ' s';
  return (seconds * 1000).toPrecision(3) + ' ms';
}

const OPERATOR = /^operator\s*(\(\)|\[\]|<=>|<<=?|>>=?|<=?|>=?|->\*?|[-+*\/%^&|~!=,]+)/;

// A C++ name without what is between <> and (), at any depth.
function withoutBrackets(name) {
  let kept = '', depth = 0;
  for (let i = 0; i < name.length; i++) {
    const operator = depth === 0 && name[i] === 'o' && OPERATOR.exec(name.substr(i, 16));
    if (operator) {
      kept += operator[0];
      i += operator[0].length - 1;
    } else if (name[i] === '<' || name[i] === '(') {
      depth++;
    } else if (name[i] === ')' || (name[i] === '>' && name[i - 1] !== '-')) {
      depth = Math.max(0, depth - 1);
    } else if (depth === 0) {
      kept += name[i];
    }
  }
  return kept;
}

// "std::vector::push_back" of "void std::vector<int>::push_back(int const&)".  Go's names, which
// have brackets of another meaning, stay.
function withoutArguments(name) {
  if (name.includes('(*') || !/[<(]/.test(name)) return name;
  let kept = withoutBrackets(name.replaceAll('(anonymous namespace)::', ''));
  kept = kept.replace(/\s*\[clone[^\]]*\]/g, '').replace(/(\s+const)?\s*&{0,2}$/, '');
  if (!/\boperator\b/.test(kept)) kept = kept.slice(kept.lastIndexOf(' ') + 1);
  kept = kept.replace(/::(?=::)/g, '').replace(/^::/, '');
  return kept || name;
}

// The name, and shorter and shorter forms of it that still tell it from others.
function shorterNames(name) {
  const plain = withoutArguments(name);
  const parts = plain.split(/::|\/(?=[^\/]*$)/);
  return [name, plain, parts.slice(-2).join('::'), parts[parts.length - 1]];
}

// Whose code a function is: its outermost namespace, its package in Go, else its library.
function groupOf(name, module) {
  const plain = withoutArguments(name);
  const colons = plain.indexOf('::');
  if (colons > 0) return plain.slice(0, colons);
  const goPackage = /^((?:[\w.-]+\/)*[\w-]+)\.[\w(]/.exec(plain);
  if (goPackage && !plain.includes('+0x')) return goPackage[1];
  return module;
}

function basename(path) {
  return path.slice(path.lastIndexOf('/') + 1);
}

// An element with text.  Names reach the document by this function only, never as HTML.
function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function byId(id) {
  return document.getElementById(id);
}
