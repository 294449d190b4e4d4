import { imageSource } from './links.ts';

const PICTURE = /<img\b[^>]*>/gi;
const attribute = (tag: string, name: string): string | undefined =>
  new RegExp(`\\s${name}="([^"]*)"`, 'i').exec(tag)?.[1];

/**
 * Sanitised HTML from before the rules for pictures: one that would call a route of this site gives way to its
 * description, or to its address. Hosts are not judged: which of them are shown is a setting for new texts, and the
 * content security policy has its present value.
 */
export function permittedPictures(html: string, origin: string): string {
  return html.replace(PICTURE, (tag) => {
    const address = attribute(tag, 'src') ?? '';
    const plain = address
      .replaceAll('&quot;', '"')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&');
    const host = URL.parse(plain)?.host;
    if (imageSource(plain, { origin, imageHosts: host === undefined ? [] : [host] }) !== undefined) return tag;
    return attribute(tag, 'alt') || address;
  });
}
