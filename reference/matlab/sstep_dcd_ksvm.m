function [alpha, history] = sstep_dcd_ksvm(A, y, alpha, index, s, loss, C, kernel)
% SSTEP_DCD_KSVM  s-step dual coordinate descent for the kernel SVM.
%
%   [alpha, history] = SSTEP_DCD_KSVM(A, y, alpha, index, s, loss, C, kernel)
%   makes the iterations of DCD_KSVM in windows of s (the last may be
%   shorter). history(:, k) is alpha after window k.
%
%   Source: Algorithm 2. The corrections of lines 15 and 16 are one product
%   each with a row of the window's Gram matrix (theta is still zero from
%   iteration j on).

  [nu, omega] = svm_box(loss, C);
  H = numel(index);
  m = numel(y);
  history = zeros(m, ceil(H / s));
  for first = 1:s:H
    window = index(first:min(first + s - 1, H));
    window = window(:);
    same = double(window == window');                     % V' V: equal coordinates
    U = (y * y(window)') .* kernel_panel(A, window, kernel);  % line 11
    G = U(window, :) + omega * same;                      % line 12, overlaps included
    g0 = U' * alpha - 1 + omega * alpha(window);          % gradient at the frozen alpha
    theta = zeros(numel(window), 1);
    for j = 1:numel(window)
      rho = alpha(window(j)) + same(j, :) * theta;          % line 15
      if G(j, j) > 0
        g = g0(j) + G(:, j)' * theta;                     % line 16
        theta(j) = min(max(rho - g / G(j, j), 0), nu) - rho;    % line 19
      else
        theta(j) = nu - rho;                              % no curvature: g = -1
      end
    end
    alpha = alpha + accumarray(window, theta, [m, 1]);    % line 24
    history(:, ceil(first / s)) = alpha;
  end
end
