/** Where in the HTML a template expression is; decides whether its output can be escaped for that position. */
export interface HtmlPosition {
  readonly kind: 'text' | 'tag' | 'value' | 'unquoted' | 'raw' | 'comment';
  /** Of the attribute, for `value` and `unquoted`. */
  readonly attribute: string;
  /** True when the attribute's value begins here. */
  readonly first: boolean;
  /** Lower-case name of the element whose tag or raw text this is. */
  readonly element: string;
  /** For raw text: true inside a JSON data block. */
  readonly data: boolean;
}

interface State {
  kind: HtmlPosition['kind'];
  element: string;
  attribute: string;
  quote: string;
  first: boolean;
  /** The tag's text so far, to tell a data block from a script. */
  tag: string;
}

const RAW = new Set(['script', 'style']);
const DATA = /type="application\/(ld\+)?json"/;

/**
 * A small HTML reader for validation: fed chunk by chunk, it reports where the next expression is. It never changes
 * what it reads.
 */
export class HtmlScanner {
  #state: State = { kind: 'text', element: '', attribute: '', quote: '', first: false, tag: '' };

  get position(): HtmlPosition {
    const { kind, attribute, first, element, tag } = this.#state;
    return { kind, attribute, first, element, data: kind === 'raw' && DATA.test(tag) };
  }

  /** After an expression, the attribute value that contains it has begun. */
  skipExpression(): void {
    this.#state = { ...this.#state, first: false };
  }

  /** Both branches of a block begin at the block's position. */
  fork(): HtmlScanner {
    const copy = new HtmlScanner();
    copy.#state = { ...this.#state };
    return copy;
  }

  feed(text: string): void {
    let at = 0;
    while (at < text.length) at = this.#step(text, at);
  }

  #step(text: string, at: number): number {
    switch (this.#state.kind) {
      case 'text':
        return this.#text(text, at);
      case 'comment':
        return this.#until(text, at, '-->');
      case 'raw':
        return this.#until(text, at, `</${this.#state.element}`);
      case 'tag':
        return this.#tag(text, at);
      case 'value':
        return this.#value(text, at);
      case 'unquoted':
        return this.#unquoted(text, at);
    }
  }

  #text(text: string, at: number): number {
    const open = text.indexOf('<', at);
    if (open < 0) return text.length;
    if (text.startsWith('<!--', open)) {
      this.#state.kind = 'comment';
      return open + 4;
    }
    const name = /^<\/?([a-zA-Z][a-zA-Z0-9-]*)/.exec(text.slice(open));
    if (!name) return open + 1;
    this.#state = {
      kind: 'tag',
      element: (name[1] ?? '').toLowerCase(),
      attribute: '',
      quote: '',
      first: false,
      tag: name[0],
    };
    return open + name[0].length;
  }

  #until(text: string, at: number, end: string): number {
    const found = text.indexOf(end, at);
    if (found < 0) return text.length;
    this.#state.kind = 'text';
    return this.#state.element && end !== '-->' ? found : found + end.length;
  }

  #tag(text: string, at: number): number {
    const character = text[at] ?? '';
    this.#state.tag += character;
    if (character === '>') {
      this.#state.kind = RAW.has(this.#state.element) && !this.#state.tag.startsWith('</') ? 'raw' : 'text';
      return at + 1;
    }
    if (character === '=') return this.#opened(text, at + 1);
    if (/\s/.test(character)) this.#state.attribute = '';
    else this.#state.attribute += character.toLowerCase();
    return at + 1;
  }

  #opened(text: string, at: number): number {
    const quote = text[at] ?? '';
    const quoted = quote === '"' || quote === "'";
    this.#state = { ...this.#state, kind: quoted ? 'value' : 'unquoted', quote, first: true };
    return quoted ? at + 1 : at;
  }

  #value(text: string, at: number): number {
    const end = text.indexOf(this.#state.quote, at);
    const until = end < 0 ? text.length : end;
    if (until > at) this.#state.first = false;
    this.#state.tag += `"${text.slice(at, until)}"`;
    if (end < 0) return text.length;
    this.#state = { ...this.#state, kind: 'tag', attribute: '', first: false };
    return end + 1;
  }

  #unquoted(text: string, at: number): number {
    const end = /[\s>]/.exec(text.slice(at));
    if (!end) return text.length;
    this.#state = { ...this.#state, kind: 'tag', attribute: '', first: false };
    return at + end.index;
  }
}
