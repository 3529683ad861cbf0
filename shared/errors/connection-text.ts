/** What the gRPC library says of a connection that failed, without the labels that nothing follows. */
export function connectionText(details: string): string {
  return details
    .replace(/\.?\s*Resolution note:\s*$/, '')
    .replace(/\.?\s*Last error:\s*(?:null|undefined)?\.?\s*$/, '')
    .replace(/\.\s*$/, '');
}
