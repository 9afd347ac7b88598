function [nu, omega] = svm_box(loss, C)
% SVM_BOX  Upper end of the box and diagonal shift of a kernel SVM.
%
%   Source: Algorithms 1 and 2, line 2; 1/2C is 1/(2C).

  switch loss
    case 'svm-l1'
      nu = C;
      omega = 0;
    case 'svm-l2'
      nu = Inf;
      omega = 1 / (2 * C);
    otherwise
      error('svm_box:loss', 'loss "%s" is unknown: use svm-l1 or svm-l2', loss);
  end
end
