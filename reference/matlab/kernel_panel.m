function K = kernel_panel(A, rows, kernel)
% KERNEL_PANEL  Kernel values of all samples with some of them.
%
%   K = KERNEL_PANEL(A, rows, kernel) returns the numel(rows) columns
%   K(l, j) = k(A(l,:), A(rows(j),:)) for the samples (rows) of A.
%
%   kernel.name is 'linear', 'polynomial' (with kernel.degree, kernel.offset)
%   or 'rbf' (with kernel.sigma). Squared distances come from the norms.
%
%   Source: Table 1.

  rows = rows(:);
  K = A * A(rows, :)';
  switch kernel.name
    case 'linear'
      return
    case 'polynomial'
      K = (kernel.offset + K) .^ kernel.degree;
    case 'rbf'
      norms = sum(A .^ 2, 2);
      K = exp(-kernel.sigma * max(norms + norms(rows)' - 2 * K, 0));
    otherwise
      error('kernel_panel:name', 'kernel "%s" is unknown: use linear, polynomial or rbf', kernel.name);
  end
end
