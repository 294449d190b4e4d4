import { InvalidInput, isUnseen, withoutDirections, type FieldProblem } from 'parley-forum';
import { MAX_SUBJECT } from 'parley-forum/plugins/messages';

/**
 * Removes control characters, which are invisible and which PostgreSQL does not accept, and normalizes line endings.
 */
const normalize = (text: string): string => text.replace(/\r\n?/g, '\n').replace(/(?![\t\n])\p{Cc}/gu, '');

/**
 * Removes leading and trailing blank lines, but not the indentation of the first word, which may make it a code block.
 */
const withoutBlankLines = (text: string): string => text.trimEnd().replace(/^(?:[^\S\n]*\n)+/, '');

function problemsOf(field: string, text: string, longest: number): readonly FieldProblem[] {
  if (isUnseen(text)) return [{ field, message: 'is required' }];
  return text.length > longest ? [{ field, message: `must have at most ${longest} characters` }] : [];
}

/** Normalizes subject and text for storage; a reply has no subject. Throws 400 naming each invalid field. */
export function checkedTexts(
  { subject, content }: { readonly subject?: string; readonly content: string },
  longest: number,
): { readonly subject: string; readonly content: string } {
  const checked = {
    subject: withoutDirections(normalize(subject ?? ''))
      .replace(/\s+/g, ' ')
      .trim(),
    content: withoutBlankLines(normalize(content)),
  };
  const wrong = [
    ...(subject === undefined ? [] : problemsOf('subject', checked.subject, MAX_SUBJECT)),
    ...problemsOf('content', checked.content, longest),
  ];
  if (wrong.length > 0) throw new InvalidInput(wrong);
  return checked;
}
