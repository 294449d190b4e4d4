import { define, insertText, type ComposerTool } from '@forum/client';

/** The toolbar button that starts a mention: after its `@`, members are suggested. */
class Mention extends HTMLElement implements ComposerTool {
  use(area: HTMLTextAreaElement): void {
    const { value, selectionStart: start, selectionEnd: end } = area;
    // Directly after a word, the sign would be part of an email address.
    const before = /\S$/.test(value.slice(0, start)) ? ' ' : '';
    insertText(area, `${before}@${value.slice(start, end)}`, start, end);
  }
}
define('x-mention', Mention);
