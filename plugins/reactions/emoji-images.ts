/**
 * Images of the default reactions' emoji: a device without a font for them would show boxes. Other emoji are shown in
 * the device's font.
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
