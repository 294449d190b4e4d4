/**
 * Images of the default reactions' emoji, since a device without an emoji font would show boxes. Other emoji are shown
 * in the device's font.
 */
const IMAGES: Readonly<Record<string, string>> = {
  '👍': 'like',
  '❤': 'love',
  '😄': 'laugh',
  '😮': 'wow',
  '😢': 'sad',
  '🙏': 'thanks',
};

/** The file of an emoji's image, below `public/`. */
export function imageOf(emoji: string): string | undefined {
  const name = IMAGES[emoji.replaceAll('\ufe0f', '')];
  return name && `${name}.svg`;
}
