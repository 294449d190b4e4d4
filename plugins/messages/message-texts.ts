import { InvalidInput, isUnseen, withoutDirections, type FieldProblem } from 'parley-forum';
import { MAX_SUBJECT } from 'parley-forum/plugins/messages';

/** Without control characters, which show nothing and which PostgreSQL does not take; lines end alike wherever they were typed. */
const normalize = (text: string): string => text.replace(/\r\n?/g, '\n').replace(/(?![\t\n])\p{Cc}/gu, '');

/** Without the blank lines around it: white space before the first word may make it a block of code. */
const withoutBlankLines = (text: string): string => text.trimEnd().replace(/^(?:[^\S\n]*\n)+/, '');

function problemsOf(field: string, text: string, longest: number): readonly FieldProblem[] {
  if (isUnseen(text)) return [{ field, message: 'is required' }];
  return text.length > longest ? [{ field, message: `must have at most ${longest} characters` }] : [];
}

/** Subject and text as they are stored, a reply without a subject. 400 naming each field that is wrong. */
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
