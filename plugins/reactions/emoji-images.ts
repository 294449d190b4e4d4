/**
 * Drawings of the emoji that a fresh forum begins with: a machine without letters for them would show boxes. Others are
 * shown as the machine has them.
 */
const DRAWN: Readonly<Record<string, string>> = {
  '👍': 'like',
  '❤': 'love',
  '😄': 'laugh',
  '😮': 'wow',
  '😢': 'sad',
  '🙏': 'thanks',
};

/** The file of an emoji's drawing, below `public/`. */
export function drawingOf(emoji: string): string | undefined {
  const name = DRAWN[emoji.replaceAll('\ufe0f', '')];
  return name && `${name}.svg`;
}
