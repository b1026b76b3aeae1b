'use strict';
// Formats amounts and names for people.

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

// Returns "81.7 MiB": one digit after the point, and never 1024 of a unit.
function formatBytes(value) {
  let amount = Math.abs(value), unit = 0;
  while (unit + 1 < BYTE_UNITS.length && Number(amount.toFixed(unit ? 1 : 0)) >= 1024) {
    amount /= 1024;
    unit++;
  }
  return (value < 0 ? '−' : '') + amount.toFixed(unit ? 1 : 0) + ' ' + BYTE_UNITS[unit];
}

// Returns "1,234,567".
function formatCount(value) {
  return Math.round(value).toLocaleString('en-US').replace('-', '−');
}

// Returns "0.98 to 1.02 GiB": one unit, and enough digits to tell the ends apart.
function formatRange(low, high, unit, sign = '') {
  const most = Math.max(Math.abs(low), Math.abs(high));
  const power = unit === 'bytes' ? Math.min(6, Math.floor(Math.log2(Math.max(1, most)) / 10)) : 0;
  const scale = 1024 ** power;
  const wanted = Math.ceil(1 - Math.log10((high - low) / scale));
  const digits = power === 0 ? 0 : Math.min(3, Math.max(0, wanted));
  const text = (value) => (value > 0 ? sign : value < 0 ? '−' : '') +
      (power === 0 ? formatCount(Math.abs(value)) : Math.abs(value / scale).toFixed(digits));
  return `${text(low)} to ${text(high)}` + (unit === 'bytes' ? ' ' + BYTE_UNITS[power] : '');
}

function formatAmount(value, unit) {
  return unit === 'bytes' ? formatBytes(value) : formatCount(value);
}

function formatChange(value, unit) {
  return (value > 0 ? '+' : '') + formatAmount(value, unit);
}

// Returns "12.3 %", with as many digits as a small share needs.
function formatPercent(share) {
  const percent = 100 * share, isSmall = percent !== 0 && Math.abs(percent) < 0.1;
  return (isSmall ? percent.toPrecision(1) : percent.toFixed(1)).replace('-', '−') + ' %';
}

// Returns "2 min 5 s", "1.25 s", "3.1 ms".
function formatSeconds(seconds) {
  const whole = (amount, unit) => Math.floor(amount) + ' ' + unit;
  if (seconds >= 3600) return whole(seconds / 3600, 'h') + ' ' + whole(seconds % 3600 / 60, 'min');
  if (seconds >= 60) return whole(seconds / 60, 'min') + ' ' + whole(seconds % 60, 's');
  if (seconds >= 1) return seconds.toPrecision(3) + ' s';
  return (seconds * 1000).toPrecision(3) + ' ms';
}

const OPERATOR = /^operator\s*(\(\)|\[\]|<=>|<<=?|>>=?|<=?|>=?|->\*?|[-+*\/%^&|~!=,]+)/;

// Removes the text between <> and () from a C++ name, at any depth.
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

const STRING =
    /std::basic_string<char, std::char_traits<char>, std::allocator<char> ?>/g;

// Namespaces that name the layout of strings, or the version of libc++, of the build.
const VERSION = /\bstd::(__cxx11|__[12]|__ndk1|__Cr)::/g;

// Shortens the types that nearly every name spells out, such as std::basic_string.
function tidyName(name) {
  return name.replace(VERSION, 'std::').replace(STRING, 'std::string');
}

// Returns "std::vector::push_back" for "void std::vector<int>::push_back(int const&)".  Keeps Go's
// names, in which "(*Server)" is not an argument.
function withoutArguments(name) {
  if (/\.\(\*\w/.test(name) || !/[<(]/.test(name)) return name;
  let kept = withoutBrackets(name.replaceAll('(anonymous namespace)::', ''));
  kept = kept.replace(/\s*\[clone[^\]]*\]/g, '').replace(/(\s+const)?\s*&{0,2}$/, '');
  if (!/\boperator\b/.test(kept)) kept = kept.slice(kept.lastIndexOf(' ') + 1);
  kept = kept.replace(/::(?=::)/g, '').replace(/^::/, '');
  return kept || name;
}

// Returns shorter and shorter forms of a name that still tell it from others.
function shorterNames(name) {
  const plain = withoutArguments(tidyName(name));
  const parts = plain.split('::');
  return [plain, parts.slice(-2).join('::'), parts[parts.length - 1].replace(/^.*\//, '')];
}

// Returns the owner of a function: its outermost namespace, its package in Go, else its library.
function groupOf(name, module) {
  const plain = withoutArguments(name);
  const colons = plain.indexOf('::');
  if (colons > 0) return plain.slice(0, colons);
  const goPackage = /^((?:[\w.-]+\/)*[\w-]+)\.[\w(]/.exec(plain);
  if (goPackage && !plain.includes('+0x')) return goPackage[1];
  return module;
}

// Compares for sorting: numbers by size, texts by code units.
function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

function basename(path) {
  return path.slice(path.lastIndexOf('/') + 1);
}

// Makes an element with text.  All names reach the document by this function, never as HTML.
function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function byId(id) {
  return document.getElementById(id);
}
