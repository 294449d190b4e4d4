import { define, type Completion, type CompletionSource } from '@forum/client';
import { calledLike, emojiNamed, written } from './parts/emoji.ts';

/** The minimum number of letters to search for: a colon alone is ordinary punctuation. */
const LEAST = 2;
const MOST = 8;

/** Completes emoji by name. */
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
