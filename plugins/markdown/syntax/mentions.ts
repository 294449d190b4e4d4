import type { StateInline } from 'markdown-it';

// The length of usernames; a full stop or hyphen at the end belongs to the sentence.
const NAME = /@([\p{L}\p{N}_][\p{L}\p{N}_.-]{1,28}[\p{L}\p{N}_])/uy;
/** The characters that registration accepts: `@zoé` must not become a link to `@zo`. */
const POSSIBLE = /^[A-Za-z0-9_.-]+$/;
const BEFORE = /[\p{L}\p{N}_/@.&-]/u;

/** Inline rule: `@name` links to the member's page; email addresses and links are left alone. */
export function mention(state: StateInline, silent: boolean): boolean {
  if (state.src.charCodeAt(state.pos) !== 0x40 || state.linkLevel > 0) return false;
  if (state.pos > 0 && BEFORE.test(state.src[state.pos - 1]!)) return false;
  NAME.lastIndex = state.pos;
  const name = NAME.exec(state.src)?.[1];
  if (name === undefined || !POSSIBLE.test(name) || state.pos + name.length >= state.posMax) return false;
  if (!silent) {
    state.push('link_open', 'a', 1).attrs = [
      ['class', 'mention'],
      ['href', `/u/${encodeURIComponent(name)}`],
    ];
    state.push('text', '', 0).content = `@${name}`;
    state.push('link_close', 'a', -1);
  }
  state.pos += name.length + 1;
  return true;
}
