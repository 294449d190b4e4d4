import { define, insertText, type ComposerTool } from '@forum/client';

/** The button of a writing field's bar with which somebody is spoken of: members are offered behind its sign. */
class Mention extends HTMLElement implements ComposerTool {
  use(area: HTMLTextAreaElement): void {
    const { value, selectionStart: start, selectionEnd: end } = area;
    // Behind a word the sign would be part of an address.
    const before = /\S$/.test(value.slice(0, start)) ? ' ' : '';
    insertText(area, `${before}@${value.slice(start, end)}`, start, end);
  }
}
define('x-mention', Mention);
