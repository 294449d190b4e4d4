import { slugOf } from 'parley-forum/plugins/api';

/** Maximum characters of a name without its extension. */
const MAX_STEM_LENGTH = 100;

export interface FileName {
  /**
   * Shown to people. Contains no folders, no characters that are invisible or change the text direction, and no dots
   * except the last.
   */
  readonly stem: string;
  /** In lower case; empty if there is none. */
  readonly extension: string;
}

/**
 * Cleans a file name sent by a client. Only one dot is kept: "photo.php.png" must not look like a program to software
 * that parses names from left to right.
 */
export function parseFileName(given: string): FileName {
  const last = given.normalize('NFC').split(/[/\\]/).at(-1) ?? '';
  const plain = last
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .replace(/[<>:"|?*]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  const dot = plain.lastIndexOf('.');
  const whole = dot < 0 ? plain : plain.slice(0, dot);
  const stem = [...whole.replace(/\.+/g, '-').replace(/^[-\s]+|[-\s]+$/g, '')].slice(0, MAX_STEM_LENGTH).join('');
  return { stem: stem || 'file', extension: dot < 0 ? '' : plain.slice(dot + 1).toLowerCase() };
}

/** The file name of a picture's smaller copies. */
export const copyName = (name: string): string => `${parseFileName(name).stem}.webp`;

/** The last segment of the file's URL: words that need no escaping in Markdown or URLs. */
export const urlFileName = (name: string): string => {
  const { stem, extension } = parseFileName(name);
  return `${slugOf(stem, 'file')}.${extension}`;
};
