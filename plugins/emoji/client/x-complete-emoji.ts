import { define, type Completion, type CompletionSource } from '@forum/client';
import { calledLike, emojiNamed, written } from './parts/emoji.ts';

/** Letters from which emoji are looked for: a colon alone is one of a sentence. */
const LEAST = 2;
const MOST = 8;

/** Emoji by their names. */
class EmojiNames extends HTMLElement implements CompletionSource {
  async complete(typed: string): Promise<readonly Completion[]> {
    if (typed.length < LEAST) return [];
    return (await emojiNamed(typed)).slice(0, MOST).map((one) => ({
      text: written(one),
      label: calledLike(one, typed) ?? '',
      sign: written(one),
    }));
  }
}
define('x-complete-emoji', EmojiNames);
