import { referencedUploads } from './storage/references.ts';
import type { UploadStore } from './storage/upload-store.ts';

const PICTURE = /<img src="[^"]*\/uploads\/([0-9a-f-]{36})\/[^"]*"/gi;

/** Gives pictures their width and height, so that a page does not move when they come. */
export async function addImageSizes(html: string, store: Pick<UploadStore, 'sizes'>): Promise<string> {
  const named = html.includes('<img ') ? referencedUploads(html) : [];
  if (named.length === 0) return html;
  const sizes = await store.sizes(named);
  return html.replace(PICTURE, (start, id: string) => {
    const size = sizes.get(id.toLowerCase());
    return size ? `${start} width="${size.width}" height="${size.height}"` : start;
  });
}
