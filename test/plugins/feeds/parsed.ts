import { createRequire } from 'node:module';

/** An element as read by the strict parser that the library uses. */
export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly elements: readonly Element[];
  /** Excluding child elements. */
  readonly text: string;
}

interface Node {
  readonly type: string;
  readonly name?: string;
  readonly attributes?: Record<string, string>;
  readonly elements?: readonly Node[];
  readonly text?: string;
  readonly cdata?: string;
}
const { xml2js } = createRequire(import.meta.resolve('feed'))('xml-js') as {
  xml2js(xml: string): { readonly elements: readonly Node[] };
};

/** The document's root. Throws if it is not well-formed, even where the parser is lenient. */
export function parsed(xml: string): Element {
  // oxlint-disable-next-line no-control-regex
  const forbidden = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])/.exec(xml);
  if (forbidden) throw new Error(`a character that XML cannot hold at ${forbidden.index}`);
  const markup = xml.replace(/<!\[CDATA\[[\s\S]*?\]\]>/g, '');
  const attribute = /<[\w:]+(?:\s+[\w:]+="[^"<]*")*\s+[\w:]+="[^"<]*</.exec(markup);
  if (attribute) throw new Error(`"<" in an attribute: ${attribute[0]}`);
  if (markup.replace(/<[^>]*>/g, '').includes(']]>')) throw new Error('"]]>" in text');
  return toElement(xml2js(xml).elements.find(({ type }) => type === 'element')!);
}

const toElement = ({ name = '', attributes = {}, elements = [] }: Node): Element => ({
  name,
  attributes,
  elements: elements.filter(({ type }) => type === 'element').map(toElement),
  text: elements.map(({ text, cdata }) => text ?? cdata ?? '').join(''),
});

export const all = (element: Element, name: string): readonly Element[] =>
  element.elements.filter((one) => one.name === name);
export function one(element: Element, name: string): Element {
  const found = all(element, name);
  if (found.length !== 1) throw new Error(`${found.length} <${name}> in <${element.name}>`);
  return found[0]!;
}
export const textOf = (element: Element, name: string): string => one(element, name).text;
/** The plain text of an HTML string. */
export const plainOf = (html: string): string =>
  html
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
